from pathlib import Path
from textwrap import dedent

import pytest

from utils.errors import ConfigError
from utils.sweeps import EarlyTerminate, Metric, read_sweep
from utils.sweeps.validate import check_parameters

ROOT = Path(__file__).resolve().parents[3]
HEAD = """\
program: train.py
command: ["${env}", "${interpreter}", "${program}", "CartPole-v1:ppo", "-q", "--wandb_sweep"]
method: random
metric: {name: val/roll/ep_rew_mean, goal: maximize}
"""


def write(folder, body, head=HEAD):
    path = folder / "sweep.yaml"
    path.write_text(head + dedent(body))
    return path


def problems(folder, body, head=HEAD):
    path = write(folder, body, head)
    with pytest.raises(ConfigError) as caught:
        check_parameters(read_sweep(path))
    return [line.partition("sweep.yaml")[2] for line in str(caught.value).splitlines()]


def test_a_sweep_with_nested_keys_and_schedules(tmp_path):
    path = write(
        tmp_path,
        """\
        parameters:
          policy_lr.start: {min: 1e-4, max: 1e-2, distribution: log_uniform_values}
          policy_lr.end: {value: 0}
          ent_coef: {values: [lin_0.01, 0.0]}
          policy_kwargs:
            parameters:
              hidden_dims: {values: [[32, 32], [64]]}
              activation: {value: tanh}
        early_terminate: {type: hyperband, min_iter: 2}
        run_cap: 12
        """,
    )
    spec = read_sweep(path)
    assert list(spec.parameters) == [
        "policy_lr.start",
        "policy_lr.end",
        "ent_coef",
        "policy_kwargs.hidden_dims",
        "policy_kwargs.activation",
    ]
    assert spec.varying == ["policy_lr.start", "ent_coef", "policy_kwargs.hidden_dims"]
    assert (spec.config_id, spec.arguments) == ("CartPole-v1:ppo", ("CartPole-v1:ppo", "-q"))
    assert spec.metric == Metric("val/roll/ep_rew_mean", "maximize")
    assert spec.early_terminate == EarlyTerminate("hyperband", 2, 3)
    assert (spec.run_cap, spec.name) == (12, "sweep")
    check_parameters(spec)


@pytest.mark.parametrize(
    ("written", "least"),
    [
        ("{type: hyperband, max_iter: 27, s: 2}", 3),  # 27 / 3^2
        ("{type: hyperband, max_iter: 32, s: 3, eta: 2}", 4),  # 32 / 2^3
        ("{type: hyperband, min_iter: 2, strict: true}", 2),
        ("{type: median, min_iter: 5}", 5),
    ],
)
def test_when_trials_are_compared_first(tmp_path, written, least):
    body = f"parameters: {{gamma: {{values: [0.9]}}}}\nearly_terminate: {written}\n"
    early = read_sweep(write(tmp_path, body)).early_terminate
    assert early is not None
    assert early.min_iter == least


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path):
    body = """\
    parametres: {}
    parameters:
      gamma: {value: 0.9, q: 1}
    early_terminate: {type: hyperbands}
    run_cap: 0
    """
    head = HEAD.replace("random", "baye").replace("goal: maximize", "goal: maximise")
    assert problems(tmp_path, body, head) == [
        ":5: unknown key 'parametres': did you mean 'parameters'?",
        ":3: 'method' 'baye' is unknown: did you mean 'bayes'? (known: grid, random, bayes)",
        ":7: parameter 'gamma': constant does not take 'q'",
        ":4: 'metric.goal' 'maximise' is unknown: did you mean 'maximize'? "
        "(known: maximize, minimize)",
        ":8: 'early_terminate.type' 'hyperbands' is unknown: did you mean 'hyperband'? "
        "(known: hyperband, median)",
        ":9: 'run_cap' must be a whole number >= 1, got 0",
    ]


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (HEAD.replace(', "CartPole-v1:ppo"', ""), "nothing to train"),
        (HEAD.replace("CartPole-v1:ppo", "--sed=1"), "unknown option '--sed': did you mean '--s"),
        (HEAD.replace("train.py", "other.py"), "'program' must be train.py"),
        (HEAD.replace('"-q"', '"${args_json}"'), "'${args_json}' is not known here"),
        (HEAD.replace('"-q"', '"--runs-dir", "${envvar:RUNS}"'), "'${envvar:RUNS}' is not known"),
        (HEAD.replace("${interpreter}", "python3"), "'python3' before ${program} is not known"),
        ("\n".join(HEAD.splitlines()[2:]) + "\n", "'command' must be a list such as"),
        (HEAD.replace(", goal: maximize", ""), "'metric.goal' is missing"),
        (HEAD.replace("random", "grid"), "parameter 'gamma': method: grid needs 'values'"),
        (HEAD.replace('"-q"', '"--set", "gamma=0.9"'), "fixes 'gamma', which is a parameter"),
    ],
)
def test_a_head_that_cannot_be_used(tmp_path, head, message):
    found = problems(tmp_path, "parameters: {gamma: {min: 0.9, max: 0.99}}\n", head)
    assert any(message in line for line in found), found


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("polcy_lr: {values: [1.0]}", "unknown key 'polcy_lr': did you mean 'policy_lr'?"),
        ("policy_kwargs.activaton: {value: relu}", "unknown key 'activaton' in 'policy_kwargs'"),
        ("policy_kwargs.activation: {values: [relu, rellu]}", "'policy_kwargs.activation' must be"),
        ("gamma: {min: 0.9, max: 1.5}", "'gamma'"),
        ("n_steps: {values: [32, 32.5]}", "'n_steps'"),
        ("policy_lr.begin: {value: 1.0}", "unknown key 'begin' in 'policy_lr'"),
    ],
)
def test_values_that_no_config_takes_are_told_before_any_training(tmp_path, parameters, message):
    (line,) = problems(tmp_path, f"parameters: {{{parameters}}}\n")
    assert message in line


def test_values_that_fit_with_some_of_the_others_are_no_mistake(tmp_path):
    body = "parameters: {n_steps: {values: [16, 32]}, batch_size: {values: [128, 256]}}\n"
    spec = read_sweep(write(tmp_path, body))
    check_parameters(spec)  # 16 steps of 8 environments make no batch of 256, but one of 128
    with pytest.raises(ConfigError, match="'seed' is a parameter"):
        check_parameters(
            read_sweep(write(tmp_path, "parameters: {seed: {values: [1]}}\n")), has_seeds=True
        )


@pytest.mark.parametrize("path", sorted((ROOT / "config" / "sweeps").glob("*.yaml")))
def test_the_sweeps_of_the_project_are_sound(path):
    check_parameters(read_sweep(path))


def test_the_arguments_of_the_agent_are_left_to_it(tmp_path):
    head = HEAD.replace('"-q", "--wandb_sweep"', '"-q", "${args}"')
    spec = read_sweep(write(tmp_path, "parameters: {gamma: {value: 0.9}}\n", head))
    assert spec.arguments == ("CartPole-v1:ppo", "-q")
