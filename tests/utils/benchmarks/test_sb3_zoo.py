import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

from utils.benchmarks.sb3_zoo import build_fast_cartpole, build_zoo_ppo, greedy_mean


class ScriptedEnv:
    """Environment i pays 1 a step and ends its first episode after i + 1 steps, then goes on."""

    num_envs = 3

    def reset(self, *, seed):
        self.count = 0
        return np.zeros((3, 4), np.float32), {}

    def step(self, action):
        self.count += 1
        terminated = self.count == np.array([1, 2, 99])
        truncated = self.count == np.array([99, 99, 3])
        return np.zeros((3, 4), np.float32), np.ones(3), terminated, truncated, {}


class Model:
    def predict(self, observation, *, deterministic):
        assert deterministic
        return np.zeros(len(observation), np.int64), None


def test_only_first_episodes_are_counted():
    assert greedy_mean(Model(), ScriptedEnv(), seed=0) == pytest.approx((1 + 2 + 3) / 3)


def test_the_peer_has_the_settings_of_our_config():
    from utils.config import load_config
    from utils.schedules import schedule_value

    ours = load_config("CartPole-v1:ppo")
    model = build_zoo_ppo(seed=0)
    assert (model.n_envs, model.n_steps) == (ours.n_envs, ours.n_steps)
    assert (model.batch_size, model.n_epochs) == (ours.resolved_batch_size, ours.n_epochs)
    assert (model.gamma, model.gae_lambda) == (ours.gamma, ours.gae_lambda)
    assert (model.ent_coef, model.vf_coef) == (ours.ent_coef, ours.vf_coef)
    assert model.max_grad_norm == ours.max_grad_norm
    for remaining in (1.0, 0.25):
        at = {"timesteps": round((1 - remaining) * ours.max_timesteps)}
        at["max_timesteps"] = ours.max_timesteps
        assert model.lr_schedule(remaining) == pytest.approx(schedule_value(ours.policy_lr, **at))
        assert model.clip_range(remaining) == pytest.approx(schedule_value(ours.clip_range, **at))
    hidden = [layer.out_features for layer in model.policy.mlp_extractor.policy_net[::2]]
    assert hidden == list(ours.policy_kwargs.hidden_dims)
    model.env.close()


def test_the_judge_sees_the_same_task():
    env = build_fast_cartpole(2)
    assert env.num_envs == 2
    assert env.max_episode_steps == 500
    env.close()
