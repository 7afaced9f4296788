"""Play carries the memory and obeys the masks, as evaluation does."""

from __future__ import annotations

import pytest
import torch

from tests.helpers.agents import make_agent, train_epochs
from utils.playback.environment import build_playback_env
from utils.playback.episodes import play_episode
from utils.rollouts import evaluate_policy

MASKED = "tests.helpers.masked_envs:Masked-v0"


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize(("kind", "has_masks"), [("gru", True), ("lstm", False), ("none", True)])
def test_a_played_episode_is_the_evaluated_one(
    kind: str, has_masks: bool, deterministic: bool
) -> None:
    agent = make_agent(
        MASKED,
        action_masks=has_masks,
        normalize_obs="rolling",
        policy_kwargs={"hidden_dims": [8], "memory": kind},
    )
    train_epochs(agent, 2)
    env = build_playback_env(agent.config, render_mode=None)
    for seed in (3, 4):  # the second begins with nothing of the first remembered
        steps = list(play_episode(env, agent.policy, seed=seed, deterministic=deterministic))
        expected = evaluate_policy(
            agent.policy,
            env,
            n_episodes=1,
            seed=seed,
            deterministic=deterministic,
            device=torch.device("cpu"),
            timeout_seconds=60,
        )
        episode = steps[-1].episode
        assert [episode.episode_return] == expected.returns
        assert not has_masks or (episode.length, episode.end) == (10, "truncated")
    env.close()
    agent.close()
