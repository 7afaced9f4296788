import pytest

from utils.config.cli import parse_train_args
from utils.errors import UserError

ID = "CartPole-v1:ppo"


def refusal(*argv):
    with pytest.raises(UserError) as caught:
        parse_train_args(argv)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()


def settings(*argv):
    return [(o.path, o.value, o.label) for o in parse_train_args(argv).overrides]


@pytest.mark.parametrize(
    "argv",
    [
        ["CartPole-v1:ppo"],
        ["--config_id", "CartPole-v1:ppo"],
        ["--config-id=CartPole-v1:ppo"],
        ["CartPole-v1:ppo", "--config-id", "CartPole-v1:ppo"],
    ],
)
def test_the_config_id_may_stand_alone_or_after_an_option(argv):
    assert parse_train_args(argv).config_id == "CartPole-v1:ppo"


def test_what_is_not_asked_for():
    args = parse_train_args([ID])
    assert (args.quiet, args.debug, args.runs_dir, args.overrides) == (False, False, "runs", ())
    assert (args.resume, args.init_from_run, args.list_envs) == (None, None, None)


def test_settings_in_order_with_the_names_that_the_person_used():
    assert settings(ID, "--seed", "3", "--max-timesteps", "1e5", "--set", "n_envs=-1") == [
        (("n_envs",), -1, "--set n_envs=-1"),
        (("max_timesteps",), 100000, "--max-timesteps 100000"),
        (("seed",), 3, "--seed 3"),
    ]


def test_underscores_and_hyphens_are_alike():
    hyphens = [
        "--max-timesteps",
        "5",
        "--runs-dir",
        "x",
        "--list-envs",
        "y",
        "--init-from-run",
        "z",
    ]
    underscores = [word.replace("-", "_").replace("__", "--", 1) for word in hyphens]
    assert parse_train_args([ID, *hyphens]).runs_dir == "x"
    spelled = [parse_train_args([ID, *words]) for words in (hyphens, underscores)]
    assert [(a.runs_dir, a.list_envs, a.init_from_run) for a in spelled] == [("x", "y", "z")] * 2


def test_listing_and_resuming_need_no_config_id():
    assert parse_train_args(["--list-envs"]).list_envs == ""
    assert parse_train_args(["--list-envs", "lunar"]).list_envs == "lunar"
    assert parse_train_args(["--resume", "@last", "-q"]).resume == "@last"


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ([], ["nothing to train: name a config such as CartPole-v1:ppo (--list-envs lists them)"]),
        (
            [ID, "--max-timestep", "5"],
            ["unknown option '--max-timestep': did you mean '--max-timesteps'?"],
        ),
        (
            ["--max-timestep=5", ID, "--quite"],
            [
                "unknown option '--max-timestep': did you mean '--max-timesteps'?",
                "unknown option '--quite': did you mean '--quiet'?",
            ],
        ),
        ([ID, "n_envs=3"], ["unexpected argument 'n_envs=3': did you mean '--set n_envs=3'?"]),
        ([ID, "c"], ["unexpected argument 'c'"]),
        ([ID, "--config-id", "c:d"], ["two config ids: 'CartPole-v1:ppo' and 'c:d'"]),
        ([ID, "--seed"], ["argument --seed: expected one argument (see train.py --help)"]),
        ([ID, "--seed", "x"], ["--seed x: must be a whole number >= 0"]),
        ([ID, "--seed", "-5"], ["--seed -5: must be a whole number >= 0"]),
        ([ID, "--seed", "1.5"], ["--seed 1.5: must be a whole number >= 0"]),
        ([ID, "--max-timesteps", "0"], ["--max-timesteps 0: must be a whole number >= 1"]),
        (
            [ID, "--max-timesteps", "1e999"],
            ["--max-timesteps 1e999: must be a whole number >= 1"],
        ),
        ([ID, "--max-timesteps", "["], ["--max-timesteps [: must be a whole number >= 1"]),
        ([ID, "--set", "n_envs"], ["--set n_envs: expected KEY=VALUE"]),
        (
            ["--resume", "x", "--init-from-run", "y"],
            ["--resume goes on with a run and --init-from-run begins a new one: choose one"],
        ),
        (
            ["--resume", "x", "--set", "n_envs=3", "--seed", "0"],
            ["--seed has no effect with --resume", "--set n_envs has no effect with --resume"],
        ),
    ],
)
def test_a_misused_command_line(argv, expected):
    lines = refusal(*argv)
    assert [line[: len(start)] for line, start in zip(lines, expected, strict=True)] == expected


def test_all_faults_are_told_at_once():
    argv = ["--set", "foo", "--set", "gama=1", "--seed", "x", "--set", "n_envs=0"]
    lines = refusal(ID, *argv)
    told = [line.partition(": ")[0] for line in lines]
    assert sorted(told) == ["--seed x", "--set foo", "--set gama=1", "--set n_envs=0"]
    # A mistake in how it is called leaves open what was meant: the config is not looked into.
    assert len(refusal(ID, "--config-id", "c:d", "--set", "gama=1")) == 1


def test_options_are_not_abbreviated():
    assert refusal(ID, "--qui") == ["unknown option '--qui': did you mean '--quiet'?"]


def test_help_names_every_option_and_succeeds(capsys):
    with pytest.raises(SystemExit) as caught:
        parse_train_args(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    for option in ("--config-id", "--set", "--resume", "--init-from-run", "--wandb-sweep", "-q"):
        assert option in shown
    assert "_" not in shown.partition("positional")[0].replace("policy_", ""), "twins stay hidden"


def test_settings_of_a_sweep_come_before_those_of_the_command_line(tmp_path, monkeypatch):
    path = tmp_path / "trial.yaml"
    path.write_text("wandb_version: 1\n\ngamma:\n  value: 0.9\n")
    monkeypatch.setenv("WANDB_SWEEP_PARAM_PATH", str(path))
    assert settings(ID, "--wandb_sweep", "--set", "gamma=0.8") == [
        (("wandb",), True, "--wandb-sweep"),
        (("gamma",), 0.9, "sweep gamma=0.9"),
        (("gamma",), 0.8, "--set gamma=0.8"),
    ]


def test_a_sweep_without_its_agent_is_refused(monkeypatch):
    monkeypatch.delenv("WANDB_SWEEP_PARAM_PATH", raising=False)
    (line,) = refusal(ID, "--wandb-sweep")
    assert "no sweep agent started this process" in line
