"""TD-MPC: what it learns from, what it plans, what it refuses, going on after a stop."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
import torch

from agents.base_agent import hyperparameters_at
from agents.captured_sequences import CapturedSequences, SequenceUpdate, why_not_captured
from agents.tdmpc.tdmpc_agent import TDMPCAgent
from tests.helpers.agents import make_agent, train_epochs
from utils.checkpoints import load_checkpoint, save_checkpoint
from utils.config import config_from_dict
from utils.dataloaders import Round
from utils.distributed import Part
from utils.errors import ConfigError, RunFailedError

on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
SMALL = {
    "algo_id": "tdmpc",
    "n_envs": 2,
    "max_timesteps": 400,
    "batch_size": 8,
    "learning_starts_timesteps": 40,
    "pretrain_updates": 6,
    "steps_per_epoch": 20,
    "buffer_steps": 200,
    "n_candidates": 16,
    "n_proposals": 4,
    "n_elites": 4,
    "n_iterations": 2,
    "policy_kwargs": {
        "size": "tiny",
        "encoder_dim": 16,
        "mlp_dim": 16,
        "latent_dim": 16,
        "n_critics": 3,
    },
}
OLD_SHAPE = {"encoder_dim": 16, "mlp_dim": 16, "latent_dim": 8}
VARIANTS = {
    "second": {},
    "episodic": {"episodic": True},
    "first": {
        "version": 1,
        "horizon": 3,
        "prioritized_replay": False,
        "policy_kwargs": OLD_SHAPE,
    },
}
STEPS_OF_WALK = 7


class WalkEnv(gym.Env):
    """The observation counts steps, the reward is the action; episodes of `STEPS_OF_WALK`."""

    observation_space = gym.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self, *, n_steps: int = STEPS_OF_WALK, terminates: bool = False) -> None:
        self._n_steps, self._terminates = n_steps, terminates

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._t, self._episode = 0, int(self.np_random.integers(1000))
        return self._look(), {}

    def _look(self) -> np.ndarray:
        return np.array([self._t, self._episode], np.float32)

    def step(self, action):
        self._t += 1
        over = self._t == self._n_steps
        ended = over and self._terminates
        return self._look(), float(action[0]), ended, over and not ended, {}


class PictureEnv(WalkEnv):
    """The same as pictures whose pixels count the steps."""

    observation_space = gym.spaces.Box(0, 255, (3, 64, 64), np.uint8)

    def _look(self) -> np.ndarray:
        return np.full(self.observation_space.shape, self._t, np.uint8)


if "TDMPCPicture-v0" not in gym.registry:
    gym.register("TDMPCPicture-v0", entry_point=PictureEnv)
for name, kwargs in {
    "TDMPCWalk-v0": {},
    "TDMPCShortWalk-v0": {"n_steps": 2},
    "TDMPCEndingWalk-v0": {"terminates": True},
}.items():
    if name not in gym.registry:
        gym.register(name, entry_point=WalkEnv, kwargs=kwargs)


def build(env_id: str = "Pendulum-v1", **changes) -> TDMPCAgent:
    kwargs = {"vectorization": "sync"} if "Walk" in env_id else {}
    return make_agent(env_id, **(SMALL | kwargs | changes))


def fill(agent: TDMPCAgent, n_vec_steps: int, *, is_random: bool = True) -> None:
    if not agent.source.has_started:
        agent.source.reset(seed=3)
    agent.source.collect(Round(n_vec_steps, is_random=is_random))


# -- what it learns from ------------------------------------------------------------------------


@pytest.mark.parametrize("n_vec_steps", [30, 101])
def test_sequences_lie_in_one_episode_and_pair_what_belongs_together(n_vec_steps: int) -> None:
    agent = build("TDMPCWalk-v0")
    fill(agent, n_vec_steps)  # 101: the ring of 100 rows an environment has gone round
    for _ in range(30):
        batch = agent.source.sample()
        prepared = agent.prepare(batch)
        steps, episodes = prepared.observation.unbind(dim=-1)
        assert steps.shape == (4, 8)
        assert prepared.action.shape == (3, 8, 1)
        assert prepared.reward.shape == prepared.terminated.shape == (3, 8)
        assert torch.equal(steps.diff(dim=0), torch.ones(3, 8))
        assert torch.equal(episodes, episodes[:1].expand(4, 8))
        assert steps.max() <= STEPS_OF_WALK
        torch.testing.assert_close(prepared.reward, prepared.action[..., 0])


def test_a_buffer_as_long_as_the_run_holds_it_and_one_more_step() -> None:
    agent = build("TDMPCWalk-v0", n_envs=1, buffer_steps=48, learning_starts_timesteps=20)
    for _ in range(3):
        fill(agent, 20)
        prepared = agent.prepare(agent.source.sample())
        assert torch.equal(prepared.observation[..., 0].diff(dim=0), torch.ones(3, 8))


def test_ends_reach_the_learner_and_time_limits_do_not() -> None:
    agent = build("TDMPCEndingWalk-v0", episodic=True)
    fill(agent, 60)
    prepared = agent.prepare(agent.source.sample())
    last = prepared.observation[1:, :, 0] == STEPS_OF_WALK
    assert torch.equal(prepared.terminated, last)
    agent = build("TDMPCWalk-v0")
    fill(agent, 60)
    assert not agent.prepare(agent.source.sample()).terminated.any()


def test_random_steps_come_first_then_updates_at_once_then_both() -> None:
    agent = build()
    rows = train_epochs(agent, 4)
    counts = [(row["train/cnt/timesteps"], row["train/cnt/updates"]) for row in rows]
    assert counts == [(40, 0), (40, 6), (80, 46), (120, 86)]
    assert build(pretrain_updates=0).source.plan.scheduler.current.name == "learn"
    assert build(pretrain_updates=None).config.n_pretrain_updates == 40


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_learns_and_tells_finite_numbers(name: str) -> None:
    agent = build(**VARIANTS[name])
    row = train_epochs(agent, 3)[-1]
    assert all(np.isfinite(value) for value in row.values())
    assert ("train/loss/end" in row) == (name == "episodic")


def test_prioritised_sequences_get_the_priority_of_their_error() -> None:
    agent = build(**VARIANTS["first"] | {"prioritized_replay": True})
    train_epochs(agent, 3)
    leaves = agent.source.buffer.priorities.tree.leaves
    assert len(leaves[leaves > 0].unique()) > 3
    assert why_not_captured(agent) == "device is cpu"


@pytest.mark.parametrize("frame_stack", [1, 2])
def test_pictures_are_shifted_while_learning_and_not_while_planning(frame_stack: int) -> None:
    agent = build("TDMPCPicture-v0", vectorization="sync", frame_stack=frame_stack)
    row = train_epochs(agent, 2)[-1]
    assert all(np.isfinite(value) for value in row.values())
    picture = torch.randint(0, 256, (2, 3 * frame_stack, 64, 64), dtype=torch.uint8)
    encoder = agent.policy.model.encoder
    shifts = agent._draw_shifts(1, 2)
    assert shifts.shape == (1, 2, 2)
    plain = encoder(picture, n_leading=1)
    assert torch.equal(plain, encoder(picture, n_leading=1))
    assert not torch.equal(plain, encoder(picture, n_leading=1, shifts=shifts + 1))


def test_parts_of_a_batch_draw_together_what_the_whole_draws() -> None:
    agent = build("TDMPCPicture-v0", vectorization="sync")
    drawn = {
        "shifts": lambda n: agent._draw_shifts(3, n).unflatten(1, (3, n)),
        "kept": lambda n: agent._draw_kept(3, n).unflatten(1, (3, n)),
        "noise": lambda n: agent._draw_normal((3, n, 2)).unsqueeze(0),
    }
    for name, draw in drawn.items():
        parts = []
        for part, n in ((Part(), 4), (Part(0, 2), 2), (Part(1, 2), 2)):
            agent.part = part
            agent.noise_generator.manual_seed(1)
            parts.append(draw(n))
        whole, *halves = parts
        assert torch.equal(torch.cat(halves, dim=2), whole), name


# -- one update ---------------------------------------------------------------------------------


def test_the_prior_learns_from_its_own_loss_alone() -> None:
    agent = build()
    train_epochs(agent, 2)
    model, batch = agent.policy.model, agent.prepare(agent.source.sample())
    before = {name: p.clone() for name, p in model.named_parameters()}
    encoded, target = agent.look_ahead(batch)
    losses, states, _ = agent.model_losses(batch, encoded, target)
    agent.step("model", sum(losses.values()), {})
    assert all(torch.equal(p, before[f"prior.{n}"]) for n, p in model.prior.named_parameters())
    before = {name: p.clone() for name, p in model.named_parameters()}
    of_prior, _ = agent.loss_of_prior(states.detach(), batch.terminated)
    agent.step("prior", of_prior, {})
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (not name.startswith("prior.")), name


@pytest.mark.parametrize("env_id", ["Pendulum-v1", "TDMPCPicture-v0"])
def test_fused_steps_are_torchs_plain_ones(env_id: str) -> None:
    """Of pictures that were shifted, gradients of convolutions come with the channels last."""
    weights = []
    for kwargs in ({}, {"fused": False}):
        agent = build(env_id, vectorization="sync", optimizer_kwargs=kwargs)
        fill(agent, 40)
        agent.hyperparameters |= hyperparameters_at(agent.config, timesteps=0)
        agent.make_updates_one_by_one(2)
        weights.append(dict(agent.policy.named_parameters()))
    for name, mine in weights[0].items():
        torch.testing.assert_close(mine, weights[1][name], rtol=1e-4, atol=1e-5, msg=name)


def test_only_targets_read_the_slow_critics_and_they_follow_slowly() -> None:
    agent = build(slow_rate=0.25)
    train_epochs(agent, 2)
    slow = [p.clone() for p in agent.slow_critics.parameters()]
    agent.make_updates(1)
    for mine, old, fast in zip(
        agent.slow_critics.parameters(), slow, agent.policy.model.critics.parameters(), strict=True
    ):
        torch.testing.assert_close(mine, old.lerp(fast, 0.25))


def test_the_encoder_has_a_learning_rate_of_its_own() -> None:
    agent = build(policy_lr=1e-3)
    agent.set_rates()
    rates = {g["name"]: g["lr"] for o in agent.optimizers.values() for g in o.param_groups}
    assert rates == pytest.approx(
        {"encoder": 3e-4, "dynamics": 1e-3, "reward": 1e-3, "critics": 1e-3, "prior": 1e-3}
    )


def test_the_discount_follows_the_time_limit_unless_it_is_given() -> None:
    assert build().policy.discount.item() == pytest.approx(39 / 40)  # Pendulum has 200 steps
    assert build(gamma=0.9).policy.discount.item() == pytest.approx(0.9)


@pytest.mark.parametrize("name", VARIANTS)
def test_an_update_of_device_operations_is_the_reference(name: str) -> None:
    ours, theirs = build(**VARIANTS[name]), build(**VARIANTS[name])
    for agent in (ours, theirs):
        train_epochs(agent, 2)
    theirs.make_updates_one_by_one(4)
    update = SequenceUpdate(ours)
    for _ in range(4):
        update.load()
        with update.rates_on_device():
            keys, row = update.run()
        ours.log.add_rows(keys, row.unsqueeze(0))
    assert ours.log.flush()[0] == pytest.approx(theirs.log.flush()[0], rel=1e-3, abs=1e-6)
    for key, value in theirs.policy.state_dict().items():
        torch.testing.assert_close(ours.policy.state_dict()[key], value, rtol=1e-4, atol=1e-5)


# -- plans --------------------------------------------------------------------------------------


def test_a_plan_is_worth_its_rewards_and_the_value_behind_it() -> None:
    policy = build(gamma=0.5).policy
    model = policy.model
    torch.nn.init.normal_(model.reward[-1].weight)
    torch.nn.init.normal_(model.critics.weights[2])
    latent, actions = torch.rand(2, 16), torch.rand(3, 2, 5, 1) * 2 - 1
    worth = policy.returns_of(latent, actions)
    state, expected = latent[1:2], torch.zeros(1)
    for t in range(3):
        action = actions[t, 1, 4:5]
        pair = torch.cat([state, action], dim=-1)
        expected = expected + 0.5**t * model.number.mean(model.reward(pair))
        state = model.next(state, action)
    likeliest = model.prior(state, None, policy.min_std).action
    expected = expected + 0.5**3 * policy.judge(state, likeliest)
    torch.testing.assert_close(worth[1, 4:5], expected)


def test_nothing_counts_behind_an_end_that_is_expected() -> None:
    policy = build(episodic=True, gamma=0.5).policy
    model = policy.model
    torch.nn.init.normal_(model.reward[-1].weight)
    torch.nn.init.normal_(model.critics.weights[2])
    torch.nn.init.zeros_(model.end[-1].weight)
    latent, actions = torch.rand(2, 16), torch.rand(3, 2, 5, 1)
    model.end[-1].bias.data.fill_(1.0)
    pairs = torch.cat([latent.unsqueeze(1).expand(-1, 5, -1), actions[0]], dim=-1)
    first = model.number.mean(model.reward(pairs))
    torch.testing.assert_close(policy.returns_of(latent, actions), first)
    model.end[-1].bias.data.fill_(-1.0)
    assert not torch.allclose(policy.returns_of(latent, actions), first)


def test_plans_do_not_depend_on_the_number_of_environments() -> None:
    agent = build()
    train_epochs(agent, 3)
    policy, observation = agent.policy, torch.randn(5, 3)
    state = 0.3 * torch.randn(5, 3)
    together = policy.act(observation, deterministic=True, state=state)
    noise, proposed = policy.draw_noise(5, None, torch.device("cpu"), explores=True)
    exploring = policy.plan_with(observation, state, noise, proposed)
    for i in range(5):
        row = slice(i, i + 1)
        alone = policy.act(observation[row], deterministic=True, state=state[row])
        torch.testing.assert_close(alone.action, together.action[row], rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(alone.state, together.state[row], rtol=1e-3, atol=1e-3)
        cut = type(noise)(noise.candidates[:, :, row], noise.choice[row], noise.action[row])
        one = policy.plan_with(observation[row], state[row], cut, proposed[:, row])
        torch.testing.assert_close(one.action, exploring.action[row], rtol=1e-3, atol=1e-3)


def test_the_memory_is_the_last_plan_and_an_episode_begins_with_none() -> None:
    agent = build()
    fill(agent, 3, is_random=False)
    stepper = agent.source.collector.stepper
    assert stepper.state.shape == (2, 3)
    assert stepper.state.any()
    policy = agent.policy
    fresh = policy.initial_state(2)
    step = policy.act(torch.randn(2, 3), deterministic=True, state=fresh)
    noise, proposed = policy.draw_noise(1, None, torch.device("cpu"), explores=False)
    observation = torch.randn(1, 3)
    warm = policy.plan_with(observation, step.state[:1], noise, proposed)
    cold = policy.plan_with(observation, policy.initial_state(1), noise, proposed)
    assert not torch.equal(warm.mean, cold.mean)
    walk = build("TDMPCWalk-v0")
    fill(walk, STEPS_OF_WALK, is_random=False)
    assert not walk.source.collector.stepper.state.any()


def test_training_explores_and_a_deterministic_policy_does_not() -> None:
    policy = build().policy
    observation, state = torch.randn(4, 3), torch.zeros(4, 3)
    generator = torch.Generator().manual_seed(0)
    drawn = [policy.act(observation, generator=generator, state=state).action for _ in range(2)]
    still = [policy.act(observation, deterministic=True, state=state).action for _ in range(2)]
    assert not torch.equal(*drawn)
    assert torch.equal(*still)
    told = policy.explain(observation, state=state)
    torch.testing.assert_close(policy.code.to_env(told["action_planned"]), still[0])
    torch.testing.assert_close(policy.export_outputs(observation, state=state)["action"], still[0])


def test_a_plan_can_be_exported_for_any_number_of_rows() -> None:
    policy = build(n_iterations=1, horizon=2).policy

    class Exported(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.policy = policy

        def forward(self, observation: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
            return self.policy.export_outputs(observation, state=state)["action"]

    batch = torch.export.Dim("batch")
    shapes = ({0: batch}, {0: batch})
    with torch.no_grad():
        program = torch.export.export(
            Exported(), (torch.randn(2, 3), torch.zeros(2, 2)), dynamic_shapes=shapes
        )
        observation, state = torch.randn(5, 3), torch.zeros(5, 2)
        exported = program.module()(observation, state)
        torch.testing.assert_close(
            exported, policy.act(observation, deterministic=True, state=state).action
        )


# -- what it refuses ----------------------------------------------------------------------------


def test_choices_are_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"tdmpc plans actions of a Box.*Discrete\(2\).*dreamer"):
        build("CartPole-v1")


def test_an_end_is_refused_unless_it_is_learnt() -> None:
    agent = build("TDMPCEndingWalk-v0")
    with pytest.raises(ConfigError, match="set episodic: true"):
        fill(agent, 20)


def test_episodes_shorter_than_the_horizon_are_told() -> None:
    agent = build("TDMPCShortWalk-v0")
    with pytest.raises(RunFailedError, match=r"3 steps.*smaller horizon"):
        train_epochs(agent, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"policy_kwargs": {"latent_dim": 12}}, "multiple of policy_kwargs.simplex_dim 8"),
        ({"n_elites": 20}, "n_elites 20 exceeds n_candidates 16"),
        ({"n_proposals": 16}, "leaves none of n_candidates"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build(**changes)


def test_versions_spell_out_what_they_set() -> None:
    first = build(**VARIANTS["first"]).config
    assert (first.gamma, first.prior, first.slow_every_updates) == (0.99, "noisy", 2)
    assert first.policy_kwargs.simplex_dim == 0
    again = config_from_dict(first.to_dict())
    assert again == first


# -- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["second", "first"])
@pytest.mark.parametrize("n_before", [1, 3])
def test_a_run_goes_on_as_if_it_had_not_been_stopped(tmp_path, name: str, n_before: int) -> None:
    changes = VARIANTS[name] | ({"prioritized_replay": True} if name == "first" else {})
    changes |= {"steps_per_epoch": 8, "learning_starts_timesteps": 16}
    whole, stopped, resumed = (build(**changes) for _ in range(3))
    rows = train_epochs(whole, n_before + 2)[n_before:]
    train_epochs(stopped, n_before)
    checkpoint = tmp_path / "epoch=02.ckpt"
    stopped.save_companions(checkpoint)
    save_checkpoint(checkpoint, stopped.checkpoint_state())
    resumed.load_companions(checkpoint)
    resumed.load_checkpoint_state(load_checkpoint(checkpoint))
    for mine, theirs in zip(train_epochs(resumed, 2), rows, strict=True):
        mine, theirs = ({k: v for k, v in r.items() if "/time/" not in k} for r in (mine, theirs))
        assert mine == theirs
    for key, value in whole.policy.state_dict().items():
        assert torch.equal(resumed.policy.state_dict()[key], value), key


def test_loaded_weights_give_the_identical_plan() -> None:
    agent = build()
    train_epochs(agent, 3)
    config = agent.config
    space = agent.train_env.single_observation_space, agent.train_env.single_action_space
    other = TDMPCAgent.build_models(config, *space)
    other.load_state_dict(agent.policy.state_dict())
    observation, state = torch.randn(4, 3), 0.1 * torch.randn(4, 3)
    mine, theirs = (
        p.act(observation, deterministic=True, state=state) for p in (agent.policy, other)
    )
    assert torch.equal(mine.action, theirs.action)
    assert torch.equal(mine.state, theirs.state)


# -- on a GPU -----------------------------------------------------------------------------------


@pytest.mark.gpu
@on_cuda
@pytest.mark.parametrize("name", VARIANTS)
def test_captured_updates_are_the_eager_ones(name: str) -> None:
    ours, theirs = (build(**VARIANTS[name], device="cuda") for _ in range(2))
    theirs.__dict__["captured"] = None
    rows = [train_epochs(agent, 3) for agent in (ours, theirs)]
    assert isinstance(ours.captured, CapturedSequences), why_not_captured(ours)
    assert ours.counters == theirs.counters
    for key, value in rows[0][1].items():
        if key.startswith("train/loss"):
            assert value == pytest.approx(rows[1][1][key], rel=2e-2, abs=1e-3), key


@pytest.mark.gpu
@on_cuda
def test_a_captured_plan_is_the_eager_one() -> None:
    agent = build(device="cuda")
    explorer, policy = agent.build_explorer(), agent.policy
    observation = torch.randn(2, 3, device="cuda")
    state = policy.initial_state(2)
    before = explorer.state_dict()
    planned = explorer.decide(observation, mask=None, timesteps=0, state=state)
    planned = planned._replace(**{k: v.clone() for k, v in planned._asdict().items()})
    explorer.load_state_dict(before)
    eager = explorer._choose(observation, state)
    torch.testing.assert_close(planned.stored, eager[1], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(planned.state, eager[2], rtol=1e-3, atol=1e-3)
