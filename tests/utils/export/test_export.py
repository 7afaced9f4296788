import functools
import json

import gymnasium as gym
import numpy as np
import pytest
import torch

from agents import agent_class
from tests.helpers.played_runs import make_config
from tests.utils.inspection.test_plans import config_of
from utils.errors import UserError
from utils.export.export import describe_export, export_policy
from utils.export.parity import LARGEST_TOLERANCE, ParityError, check_parity, tolerances
from utils.export.program import EnvironmentAction, PolicyProgram
from utils.playback.environment import build_playback_env
from utils.policies import QNetwork, QNetworkSettings
from utils.policies.continuous_actor import ContinuousActorSettings, SquashedNormalActor
from utils.policies.q_table import QTable
from utils.policies.random_policy import RandomPolicy
from utils.spaces import ActionAdapter

DRAWN = "tests.helpers.space_envs:Drawn-v0"
MASKED = "tests.helpers.masked_envs:Masked-v0"
CASES = {
    "mlp": {"env_kwargs": {"sees": "unbounded"}, "normalize_obs": "rolling"},
    "cnn": {"env_kwargs": {"sees": "picture", "acts": "multi_discrete"}},
    "gru": {"policy_kwargs": {"memory": "gru"}, "normalize_obs": "static"},
    "masked": {
        "env_id": MASKED,
        "env_kwargs": {"acts": "multi_discrete"},
        "action_masks": True,
    },
}
MORE_CASES = {
    "mlp, static, relu": {
        "env_kwargs": {"sees": "matrix", "acts": "box"},
        "normalize_obs": "static",
        "policy_kwargs": {"activation": "relu", "share_trunk": True},
    },
    "dict": {"env_kwargs": {"sees": "dict", "acts": "multi_binary"}},
    "lstm": {"policy_kwargs": {"memory": "lstm", "share_trunk": True}},
    "masked gru": {"env_id": MASKED, "action_masks": True, "policy_kwargs": {"memory": "gru"}},
}


def build_case(**changes):
    """Return config, environment and a policy whose opinions differ from state to state."""
    config = make_config(**({"env_id": DRAWN} | changes))
    env = build_playback_env(config, render_mode=None)
    torch.manual_seed(0)
    policy = agent_class(config.algo_id).build_models(
        config, env.single_observation_space, env.single_action_space
    )
    with torch.no_grad():
        for parameter in policy.actor_head.parameters():
            parameter.normal_(std=0.5)
    if policy.normalizer.learns:
        policy.normalizer.update(3.0 + 2.0 * torch.randn(100, *env.single_observation_space.shape))
    return config, env, policy.eval()


def export(name, *, form):
    config, env, policy = build_case(**(CASES | MORE_CASES)[name])
    made = export_policy(config, policy, env, format=form, timesteps=48)
    env.close()
    return made, policy


export_once = functools.cache(export)


@pytest.mark.parametrize(
    "name", ["mlp", "gru", "masked", pytest.param("cnn", marks=pytest.mark.slow)]
)
def test_onnx_equals_torch(name):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    made, _ = export_once(name, form="onnx")
    assert made.report.n == 1000
    assert "action" in made.report.differences
    assert max(made.report.differences.values()) <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE_CASES)
def test_onnx_equals_torch_for_other_spaces_and_networks(name):
    test_onnx_equals_torch(name)


@pytest.mark.parametrize(
    "name",
    ["mlp", "gru", *(pytest.param(name, marks=pytest.mark.slow) for name in ("cnn", "masked"))],
)
def test_torch_export_equals_torch(name):
    made, _ = export_once(name, form="torch-export")
    assert made.report.n == 1000
    assert "action" in made.report.differences
    assert max(made.report.differences.values()) <= 1e-5


def build_masked_q_network(env):
    settings = QNetworkSettings(
        hidden_dims=(8, 8),
        activation="relu",
        orthogonal_init=True,
        feature_dim=8,
        action_masks=True,
        dueling=True,
        noisy_std=0.5,
        atoms=(-2.0, 9.0, 11),
    )
    return QNetwork(env.single_observation_space, 5, settings)


def build_squashed_normal(env):
    settings = ContinuousActorSettings(
        algorithm="sac",
        hidden_dims=(8,),
        activation="relu",
        orthogonal_init=False,
        feature_dim=8,
        normalize_obs="static",
    )
    return SquashedNormalActor(env.single_observation_space, env.single_action_space, settings)


def build_q_table(env):
    table = QTable(
        env.single_observation_space,
        env.single_action_space,
        initial_value=0.0,
        action_masks=False,
    )
    table.q.normal_()
    return table


@pytest.mark.parametrize(
    ("build", "changes", "told"),
    [
        pytest.param(
            build_q_table,
            {"env_kwargs": {"sees": "multi_discrete"}},
            "q_values",
            marks=pytest.mark.slow,
        ),
        (build_masked_q_network, {"env_id": MASKED, "action_masks": True}, "q_values"),
        pytest.param(
            build_squashed_normal,
            {"env_kwargs": {"acts": "box"}},
            "action_std",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_policies_of_other_algorithms_are_exported_alike(build, changes, told):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    config = make_config(**({"env_id": DRAWN} | changes))
    env = build_playback_env(config, render_mode=None)
    torch.manual_seed(0)
    made = export_policy(config, build(env).eval(), env, format="onnx", timesteps=0)
    env.close()
    assert {"action", told} <= made.report.differences.keys()
    assert max(made.report.differences.values()) <= 1e-5


def test_an_onnx_file_names_what_it_takes_and_gives_and_no_file_of_this_machine():
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    shapes = {}
    for name in ("masked", "gru"):
        model = onnx.load_from_string(export_once(name, form="onnx")[0].content)
        onnx.checker.check_model(model)
        shapes[name] = {
            item.name: [d.dim_param or d.dim_value for d in item.type.tensor_type.shape.dim]
            for item in (*model.graph.input, *model.graph.output)
        }
        assert b"actor_critic.py" not in model.SerializeToString()
    assert shapes["masked"] == {
        "observation": ["batch", 3],
        "action_mask": ["batch", 7],
        "action": ["batch", 2],
        "action_probabilities": ["batch", 7],
        "value": ["batch"],
    }
    assert shapes["gru"] == {
        "observation": ["batch", 3],
        "state": ["batch", 128],
        "action": ["batch"],
        "action_probabilities": ["batch", 3],
        "value": ["batch"],
        "next_state": ["batch", 128],
    }
    told = {entry.key: entry.value for entry in model.metadata_props}
    assert told["env_id"] == DRAWN
    assert json.loads(told["action_space"]) == {"kind": "discrete", "n": 3, "start": -1}
    assert json.loads(told["inputs"])["state"]["shape"] == ["batch", 128]


@pytest.mark.slow
def test_two_exports_are_the_same_bytes():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    first, _ = export_once("mlp", form="onnx")
    assert export("mlp", form="onnx")[0].content == first.content


def test_a_torch_export_tells_the_same_and_names_no_file_of_this_machine(tmp_path):
    made, _ = export_once("mlp", form="torch-export")
    path = tmp_path / "policy.pt2"
    path.write_bytes(made.content)
    extra = {"metadata.json": ""}
    program = torch.export.load(path, extra_files=extra).module()
    assert json.loads(extra["metadata.json"]) == made.metadata
    outputs = program({"observation": torch.zeros(5, 3)})
    assert outputs["action"].shape == (5,)
    assert outputs["action"].dtype == torch.int64
    assert b"actor_critic.py" not in made.content


def test_a_memory_that_the_caller_carries_plays_as_the_policy_does():
    pytest.importorskip("onnxruntime")
    from utils.export.onnx_format import OnnxRunner

    made, policy = export_once("gru", form="onnx")
    run = OnnxRunner(made.content)
    observations = torch.randn(50, 1, 3)
    state = policy.initial_state(1)
    carried = np.zeros((1, made.metadata["inputs"]["state"]["shape"][1]), np.float32)
    with torch.inference_mode():
        for observation in observations:
            step = policy.act(policy.normalize(observation), deterministic=True, state=state)
            outputs = run({"observation": observation.numpy(), "state": carried})
            state, carried = step.state, outputs["next_state"]
            assert int(step.action) - 1 == outputs["action"][0]  # the space starts at -1
            np.testing.assert_allclose(carried, state.numpy(), atol=1e-5)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Discrete(3),
        gym.spaces.Discrete(3, start=-1),
        gym.spaces.MultiDiscrete([3, 2], start=[5, -1]),
        gym.spaces.MultiBinary(2),
        gym.spaces.Box(-np.inf, np.inf, (2,), np.float32),
        gym.spaces.Box(np.array([0.0, -np.inf]), np.array([np.inf, 1.0]), dtype=np.float64),
    ],
    ids=str,
)
def test_the_environment_gets_the_action_that_play_sends(space):
    if isinstance(space, gym.spaces.Box):
        action = np.array([[-3.0, -3.0], [3.0, 3.0], [0.5, 0.5]], np.float32)
    else:
        action = np.array([0, 2, 1]) if isinstance(space, gym.spaces.Discrete) else None
        action = np.array([[0, 1], [1, 0]]) if action is None else action
    ours = EnvironmentAction(space)(torch.from_numpy(action)).numpy()
    np.testing.assert_array_equal(ours, ActionAdapter(space).to_env(action))


def test_a_difference_is_refused_by_name():
    inputs = {"observation": torch.zeros(10, 3)}
    expected = {"action": np.zeros(10, np.int64), "value": np.full(10, 200.0, np.float32)}

    def run(value, action=0):
        def outputs(batch):
            n = len(batch["observation"])
            return {"action": np.full(n, action), "value": np.full(n, value, np.float32)}

        return outputs

    # 0.001 of 200 is 5e-6 of it, 0.01 is 5e-5
    assert check_parity(run(200.001), inputs, expected).differences["value"] == pytest.approx(
        5e-6, rel=0.1
    )
    with pytest.raises(ParityError, match=r"10 observations.* value by 5\.0e-05"):
        check_parity(run(200.01), inputs, expected)
    with pytest.raises(ParityError, match="action by inf"):
        check_parity(run(200.0, action=1), inputs, expected)
    with pytest.raises(ParityError, match="value by nan"):
        check_parity(run(float("nan")), inputs, expected)


def test_what_rounding_moves_further_may_differ_further():
    class Wide(torch.nn.Module):
        """Its value is a thousand times a sum that is nearly 0, its spread is not."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, -1.0, 2.0, -2.0, 4.0, -4.0]))

        def forward(self, inputs):
            x = inputs["observation"] @ self.weight
            return {"value": 1e3 * x, "spread": self.weight.abs().sum().expand(len(x))}

    inputs = {"observation": torch.ones(4, 6)}
    program = Wide()
    expected = {name: value.detach().numpy() for name, value in program(dict(inputs)).items()}
    # Steps of 2^-24 to 2^-21: the sum moves by 1e-7 to 1e-6, the value by a thousand times that.
    allowed = tolerances(program, inputs, expected)
    assert set(allowed) == {"value"}
    assert 1e-4 < allowed["value"] <= LARGEST_TOLERANCE
    run = {"spread": expected["spread"][:1], "value": np.full(1, allowed["value"] / 2, np.float32)}
    one, one_expected = {"observation": torch.ones(1, 6)}, {k: v[:1] for k, v in expected.items()}
    assert check_parity(lambda _: run, one, one_expected, allowed=allowed).failures == []
    with pytest.raises(ParityError, match="value by"):
        check_parity(lambda _: run, one, one_expected)


def test_equal_infinities_are_equal():
    inputs = {"observation": torch.zeros(2, 3)}
    expected = {"q_values": np.array([-np.inf, 1.0], np.float32)}

    def check(*values):
        run = iter(values)
        return check_parity(
            lambda _: {"q_values": np.array([next(run)], np.float32)}, inputs, expected
        )

    # the first batch has one row, the second the other
    assert check(-np.inf, 1.0).differences == {"q_values": 0.0}
    with pytest.raises(ParityError, match="q_values by inf"):
        check(1.0, 1.0)


def test_a_policy_that_only_draws_has_nothing_to_export():
    space = gym.spaces.Discrete(2)
    with pytest.raises(UserError, match="nothing to export"):
        PolicyProgram(RandomPolicy(space, action_masks=False), space)


def test_people_read_names_shapes_and_differences():
    made, _ = export_once("mlp", form="torch-export")
    text = describe_export(made)
    assert "input   observation float32 (batch, 3)" in text
    assert "greatest difference to torch on 1,000 observations" in text
    assert "action                equal" in text


@pytest.mark.parametrize(("format", "is_hinted"), [("onnx", True), ("torch-export", False)])
def test_plans_that_rounding_changes_are_refused_with_the_way_out(monkeypatch, format, is_hinted):
    def differs(*_, **__):
        raise ParityError("it differs")

    monkeypatch.setattr("utils.export.export.check_parity", differs)
    monkeypatch.setattr("utils.export.export._write", lambda *_: (b"", None))
    config = config_of("tdmpc")
    env = build_playback_env(config, render_mode=None)
    policy = agent_class("tdmpc").build_models(
        config, env.single_observation_space, env.single_action_space
    )
    try:
        with pytest.raises(ParityError, match="it differs") as caught:
            export_policy(config, policy, env, format=format, timesteps=0, n_observations=2)
    finally:
        env.close()
    assert ("--format torch-export" in str(caught.value)) == is_hinted
