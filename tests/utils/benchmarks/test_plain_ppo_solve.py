"""A peer that were badly written would make ours look good."""

import json

import pytest
import torch

from utils.benchmarks import plain_ppo_solve
from utils.benchmarks.plain_ppo_solve import GAE_LAMBDA, GAMMA, N_ENVS, N_STEPS, PlainPPO
from utils.returns import generalized_advantage


@pytest.fixture
def model():
    model = PlainPPO(seed=1)
    yield model
    model.env.close()


def test_its_advantages_are_those_of_the_paper(model):
    rollout = model.collect()
    assert rollout.observation.shape == (N_STEPS, N_ENVS, 4)
    # Its rows say whether an episode had ended before the step; ours whether it ends with it.
    done = torch.cat([rollout.done[1:], model.done[None]]).bool()
    assert done.any()
    last_value = model.critic(model.observation).squeeze(-1)[None]
    expected, _ = generalized_advantage(
        reward=rollout.reward,
        value=rollout.value,
        next_value=torch.cat([rollout.value[1:], last_value]).detach(),
        terminated=done,
        done=done,
        gamma=GAMMA,
        gae_lambda=GAE_LAMBDA,
    )
    torch.testing.assert_close(model.advantages(rollout), expected)


def test_it_learns(model):
    first = model.collect()
    for _ in range(12):
        rollout = model.collect()
        model.update(rollout, model.advantages(rollout))
    last = model.collect()
    assert last.done.mean() < 0.7 * first.done.mean()  # ends fewer episodes in as many steps


def test_it_prints_one_object(monkeypatch, capsys):
    monkeypatch.setattr(plain_ppo_solve, "EVAL_PERIOD", 512)
    plain_ppo_solve.main(["1", "512", "2"])
    result = json.loads(capsys.readouterr().out)
    assert result["timesteps"] == 512
    assert 1 <= result["mean"] <= 500
