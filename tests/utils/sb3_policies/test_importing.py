"""Models of Stable-Baselines3 act here as they act there."""

import json

import gymnasium as gym
import numpy as np
import pytest
import torch

from agents import build_agent
from agents.loading import load_policy
from utils.config.cli import parse_train_args
from utils.environment import build_env_from_config
from utils.errors import ConfigError, UserError
from utils.experiments.records import as_record, read_stored
from utils.rollouts.stepper import to_tensors
from utils.run.plan import plan_training
from utils.sb3_policies.importing import import_model
from utils.spaces import ActionAdapter
from utils.verification.verify import verify_run

sb3 = pytest.importorskip("stable_baselines3")

from stable_baselines3.common.vec_env import VecNormalize  # noqa: E402

from tests.helpers.sb3_models import env_of, import_it, make, shaken, small  # noqa: E402

N = 16


CASES = [
    ("PPO", "MlpPolicy", "vector-discrete", {"policy_kwargs": small()}),
    ("PPO", "MlpPolicy", "vector-multi", {"policy_kwargs": {"net_arch": []}}),
    ("A2C", "MlpPolicy", "vector-bits", {"policy_kwargs": {"net_arch": {"pi": [4], "vf": [9, 3]}}}),
    ("PPO", "MlpPolicy", "vector-box", {"policy_kwargs": small(activation_fn=torch.nn.ELU)}),
    ("PPO", "MlpPolicy", "vector-box", {"use_sde": True, "policy_kwargs": small()}),
    (
        "PPO",
        "MlpPolicy",
        "vector-box",
        {"use_sde": True, "policy_kwargs": small(squash_output=True, full_std=False)},
    ),
    ("A2C", "MlpPolicy", "choice-discrete", {}),
    ("PPO", "MlpPolicy", "choices-discrete", {}),
    ("PPO", "MlpPolicy", "bits-discrete", {}),
    ("PPO", "MlpPolicy", "picture-discrete", {"policy_kwargs": small()}),
    ("A2C", "CnnPolicy", "picture-discrete", {}),
    (
        "PPO",
        "CnnPolicy",
        "picture-box",
        {"policy_kwargs": small(share_features_extractor=False, normalize_images=False)},
    ),
    ("PPO", "MultiInputPolicy", "mixed-discrete", {"policy_kwargs": small()}),
    ("DQN", "MlpPolicy", "vector-discrete", {"policy_kwargs": small()}),
    ("DQN", "CnnPolicy", "picture-discrete", {}),
    ("DQN", "MultiInputPolicy", "mixed-discrete", {}),
    ("SAC", "MlpPolicy", "vector-box", {"policy_kwargs": small(n_critics=3)}),
    ("SAC", "MlpPolicy", "vector-box", {"use_sde": True, "policy_kwargs": small()}),
    ("SAC", "CnnPolicy", "picture-box", {}),
    ("SAC", "MultiInputPolicy", "mixed-box", {"policy_kwargs": {"share_features_extractor": True}}),
    ("TD3", "MlpPolicy", "vector-box", {"policy_kwargs": {"net_arch": {"pi": [5], "qf": [6, 4]}}}),
    ("TD3", "CnnPolicy", "picture-box", {}),
    ("DDPG", "MlpPolicy", "vector-box", {"policy_kwargs": small()}),
]


@torch.no_grad()
def compare(model, imported, env):
    """Compare actions and values on N observations that `env` of Stable-Baselines3 gives."""
    config = imported.config
    ours = build_env_from_config(config, n_envs=1)
    loaded = load_policy(config, imported.run.checkpoint(), env=ours, with_critic=True)
    adapter = ActionAdapter(ours.single_action_space)
    ours.close()
    env.observation_space.seed(7)
    raw = [env.observation_space.sample() for _ in range(N)]
    batch = (
        {key: np.stack([each[key] for each in raw]) for key in raw[0]}
        if isinstance(raw[0], dict)
        else np.stack(raw)
    )
    wanted, _ = model.predict(
        env.normalize_obs(batch) if isinstance(env, VecNormalize) else batch, deterministic=True
    )
    tensors = to_tensors(as_read(batch), torch.device("cpu"))
    policy = loaded.policy
    read = policy.normalize(tensors)
    step = policy.act(read, deterministic=True)
    np.testing.assert_allclose(
        adapter.to_env(step.action.numpy()), np.asarray(wanted), rtol=1e-4, atol=1e-5
    )
    return policy, read, batch


def as_read(observation):
    """Return observations as vector envs give them here: channels first."""
    if isinstance(observation, dict):
        return observation
    if observation.ndim == 4 and observation.shape[-1] % 3 == 0 and observation.shape[1] > 9:
        return np.ascontiguousarray(np.moveaxis(observation, -1, 1))
    return observation


@pytest.mark.parametrize(("algorithm", "policy", "name", "settings"), CASES)
def test_a_model_acts_here_as_it_acts_there(tmp_path, algorithm, policy, name, settings):
    env = env_of(name)
    model = shaken(make(algorithm, policy, env, **settings))
    imported = import_it(tmp_path, model, name)
    kwargs = imported.config.policy_kwargs
    assert kwargs.algorithm == algorithm
    ours, read, batch = compare(model, imported, env)
    with torch.no_grad():
        thoughts = ours.explain(read)
    theirs = model.policy
    with torch.no_grad():
        observation, _ = theirs.obs_to_tensor(batch)
        if algorithm in ("PPO", "A2C"):
            value = theirs.predict_values(observation)[:, 0]
            torch.testing.assert_close(thoughts["value"], value, rtol=1e-4, atol=1e-5)
            if not settings.get("policy_kwargs", {}).get("squash_output"):
                compare_densities(theirs, ours, observation, read, env.action_space)
        elif algorithm == "DQN":
            torch.testing.assert_close(
                thoughts["q_values"], theirs.q_net(observation), rtol=1e-4, atol=1e-5
            )
        else:
            action = (
                theirs.actor(observation, deterministic=True)
                if algorithm == "SAC"
                else theirs.actor(observation)
            )
            value = torch.cat(theirs.critic(observation, action), dim=1).min(dim=1).values
            torch.testing.assert_close(thoughts["value"], value, rtol=1e-4, atol=1e-4)


def compare_densities(theirs, ours, observation, read, space):
    """Compare the log-densities of any actions."""
    space.seed(8)
    actions = torch.as_tensor(np.stack([space.sample() for _ in range(N)]))
    actions = actions.float() if isinstance(space, gym.spaces.MultiBinary) else actions
    _, wanted, _ = theirs.evaluate_actions(observation, actions)
    density = ours.distribution.logprob(ours.parameters_of(read), actions)
    torch.testing.assert_close(density, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("algorithm", "policy", "name", "settings"),
    [CASES[0], CASES[3], CASES[4], CASES[16], CASES[17]],
)
@torch.no_grad()
def test_sampled_actions_have_the_same_distribution(tmp_path, algorithm, policy, name, settings):
    env = env_of(name)
    model = shaken(make(algorithm, policy, env, **settings))
    ours, read, batch = compare(model, import_it(tmp_path, model, name), env)
    n = 4000
    torch.manual_seed(1)
    if settings.get("use_sde"):
        drawn = []
        for _ in range(n):
            model.policy.reset_noise()
            drawn.append(model.predict(batch[:1], deterministic=False)[0][0])
    else:
        drawn = model.predict(np.repeat(batch[:1], n, axis=0), deterministic=False)[0]
    theirs = np.asarray(drawn, np.float64).reshape(n, -1)
    many = read[:1].repeat(n, 1)
    own = ours.act(many, generator=torch.Generator().manual_seed(2)).action
    own = ActionAdapter(env.action_space).to_env(own.numpy()).astype(np.float64).reshape(n, -1)
    spread = theirs.std(axis=0)
    assert (spread > 0.003).all()
    # Five deviations of a mean of 4,000 draws, and of the difference of two such.
    assert (np.abs(theirs.mean(axis=0) - own.mean(axis=0)) < 5 * spread * np.sqrt(2 / n)).all()
    np.testing.assert_allclose(own.std(axis=0), spread, rtol=0.1)


@pytest.mark.parametrize("normalize", ["inside", "outside"])
@pytest.mark.parametrize("n_stack", [1, 3])
def test_the_statistics_of_vec_normalize_come_along(tmp_path, n_stack, normalize):
    env = env_of("vector-discrete", n_stack=n_stack, normalize=normalize)
    model = shaken(make("PPO", "MlpPolicy", env))
    model.learn(16)
    statistics = tmp_path / "vecnormalize.pkl"
    found = env.venv if normalize == "inside" and n_stack > 1 else env
    found.save(statistics)
    imported = import_it(tmp_path, model, "vector-discrete", vec_normalize=statistics)
    assert imported.config.frame_stack == n_stack
    if normalize == "inside" and n_stack > 1:  # observations that are normalised already
        ours = build_env_from_config(imported.config, n_envs=1)
        policy = load_policy(imported.config, imported.run.checkpoint(), env=ours).policy
        raw = np.random.default_rng(0).uniform(-3, 3, (N, n_stack * 5)).astype(np.float32)
        parts = [found.normalize_obs(part) for part in np.split(raw, n_stack, axis=1)]
        wanted, _ = model.predict(np.concatenate(parts, axis=1), deterministic=True)
        step = policy.act(policy.normalize(torch.from_numpy(raw)), deterministic=True)
        np.testing.assert_array_equal(step.action.numpy(), wanted)
    else:
        compare(model, imported, env)


def test_parts_of_a_dictionary_that_were_not_normalised_stay_as_they_are(tmp_path):
    env = VecNormalize(env_of("mixed-discrete"), norm_obs_keys=["vector"], norm_reward=False)
    model = shaken(make("PPO", "MultiInputPolicy", env))
    model.learn(16)
    env.save(tmp_path / "vn.pkl")
    imported = import_it(tmp_path, model, "mixed-discrete", vec_normalize=tmp_path / "vn.pkl")
    compare(model, imported, env)


def test_rewards_are_weighed_as_the_learner_did(tmp_path):
    env = VecNormalize(env_of("vector-discrete"), norm_obs=False)
    model = make("PPO", "MlpPolicy", env, gamma=0.9, gae_lambda=0.7)
    model.learn(16)
    env.save(tmp_path / "vn.pkl")
    config = import_it(tmp_path, model, "vector-discrete", vec_normalize=tmp_path / "vn.pkl").config
    assert (config.gamma, config.gae_lambda) == (0.9, 0.7)
    assert config.reward_scale == pytest.approx(1.0 / np.sqrt(env.ret_rms.var + env.epsilon))
    assert not config.policy_kwargs.vec_normalize


def test_stacked_pictures_are_recognised_by_their_channels(tmp_path):
    env = env_of("picture-discrete", n_stack=4)
    model = shaken(make("PPO", "CnnPolicy", env))
    imported = import_it(tmp_path, model, "picture-discrete")
    assert imported.config.frame_stack == 4
    assert imported.notes == (
        "frame_stack: 4, for the model reads observations of shape (12, 40, 36)",
    )
    compare(model, imported, env)


def test_a_trained_model_is_as_good_here(tmp_path):
    """Trained a moment on CartPole, and judged by the same episodes with both."""
    model = sb3.PPO("MlpPolicy", "CartPole-v1", n_steps=512, n_epochs=4, seed=0, device="cpu")
    model.learn(4096)
    path = tmp_path / "model.zip"
    model.save(path)
    imported = import_model(
        path, env_id="CartPole-v1", vec_normalize=None, n_episodes=4, runs_dir=tmp_path / "runs"
    )
    assert imported.archive.timesteps == 4096
    assert imported.result.n_unfinished == 0
    config = imported.config
    assert config.spec.observation.labels  # of the environment's config file
    env = gym.make("CartPole-v1")
    ours = build_env_from_config(config, n_envs=1, vectorization="sync")
    policy = load_policy(config, imported.run.checkpoint("@best"), env=ours).policy
    lengths = [play_theirs(model, env, seed) for seed in range(5)]
    assert [play_ours(policy, ours, seed) for seed in range(5)] == lengths
    assert len(set(lengths)) > 1
    results = json.loads(imported.run.results_path.read_text())
    assert results["test"]["best"]["mean"] == imported.result.mean
    assert imported.run.read_status()["status"] == "completed"
    with pytest.raises(ConfigError, match="trained on only there"):
        build_agent(config)
    record = as_record(imported.run, read_stored(imported.run))
    assert record.columns["timesteps"] == 4096
    with pytest.raises(UserError, match=r"imported .*: there is no training"):
        verify_run(imported.run, until=None, tolerance=None, folder=None, tell=lambda *_: None)
    with pytest.raises(UserError, match=r"imported .*, and not trained on"):
        plan_training(parse_train_args(["--resume", str(imported.run.path)]))


def play_theirs(model, env, seed):
    observation, _ = env.reset(seed=seed)
    for t in range(1, 501):
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            return t
    return None


@torch.no_grad()
def play_ours(policy, env, seed):
    observation, _ = env.reset(seed=seed)
    for t in range(1, 501):
        tensors = to_tensors(observation, torch.device("cpu"))
        action = policy.act(policy.normalize(tensors), deterministic=True).action
        observation, _, terminated, truncated, _ = env.step(action.numpy())
        if terminated[0] or truncated[0]:
            return t
    return None
