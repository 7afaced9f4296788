from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from tests.helpers.masked_envs import BlockedEnv, MaskedEnv
from utils.environment import build_env
from utils.errors import ConfigError, EnvironmentFailedError

MASKED = "tests.helpers.masked_envs:Masked-v0"


def build(vectorization: str, *, n_envs: int = 3, **kwargs: Any) -> Any:
    return build_env(
        MASKED, n_envs=n_envs, vectorization=vectorization, action_masks=True, env_kwargs=kwargs
    )


def allowed(masks: np.ndarray, acts: str) -> np.ndarray:
    """The first allowed action of each environment."""
    if acts == "discrete":
        return masks.argmax(axis=1) - 2
    if acts == "multi_discrete":
        return np.stack([masks[:, :3].argmax(axis=1), masks[:, 3:].argmax(axis=1)], axis=1)
    return masks.astype(np.int8)


@pytest.mark.parametrize("acts", ["discrete", "multi_discrete", "multi_binary"])
def test_masks_are_of_the_state_that_is_observed(acts: str) -> None:
    env, singles = build("sync", acts=acts, length=3), [MaskedEnv(acts, length=3) for _ in range(3)]
    _, infos = env.reset(seed=5)
    masks = [single.reset(seed=5 + i)[1]["action_mask"] for i, single in enumerate(singles)]
    assert infos["action_mask"].dtype == np.bool_
    for _ in range(8):  # over the ends of two episodes
        assert np.array_equal(infos["action_mask"], np.stack(masks) != 0)
        assert np.array_equal(env.action_mask, infos["action_mask"])
        actions = allowed(infos["action_mask"], acts)
        *_, truncated, infos = env.step(actions)
        assert ("final_action_mask" in infos) == truncated.any()
        for i, single in enumerate(singles):
            masks[i] = single.step(actions[i])[-1]["action_mask"]
            if truncated[i]:
                assert np.array_equal(infos["final_action_mask"][i], masks[i] != 0)
                masks[i] = single.reset()[1]["action_mask"]
    env.close()


def test_worker_processes_give_the_same_masks() -> None:
    here, there = build("sync", length=3), build("async", length=3)
    (_, ours), (_, theirs) = here.reset(seed=1), there.reset(seed=1)
    for _ in range(8):
        assert np.array_equal(ours["action_mask"], theirs["action_mask"])
        actions = allowed(ours["action_mask"], "discrete")
        ours, theirs = here.step(actions)[-1], there.step(actions)[-1]
        if "final_action_mask" in ours:
            assert np.array_equal(ours["final_action_mask"], theirs["final_action_mask"])
    state = there.get_state()
    here.reset(seed=9)
    assert here.set_state(state)[1].all()
    assert np.array_equal(here.action_mask, theirs["action_mask"])
    there.step(allowed(theirs["action_mask"], "discrete"))
    assert there.set_state(state)[1].all()
    assert np.array_equal(there.action_mask, here.action_mask)
    here.close()
    there.close()


@pytest.mark.parametrize("tells", [True, False])
def test_an_end_that_allows_nothing_or_does_not_tell_is_valued_by_all_actions(tells: bool) -> None:
    env = build_env(
        "tests.helpers.masked_envs:Blocked-v0",
        n_envs=2,
        vectorization="sync",
        action_masks=True,
        env_kwargs={"length": 3, "tells_end": tells},
    )
    _, infos = env.reset(seed=1)
    for _ in range(3):  # the third step ends the episode, and its state allows nothing
        infos = env.step(allowed(infos["action_mask"], "discrete"))[-1]
    assert infos["final_action_mask"].all()
    env.close()


def test_nothing_is_read_that_nobody_asked_for() -> None:
    env = build_env(MASKED, n_envs=2, vectorization="sync")
    assert "action_mask" not in env.reset(seed=0)[1]
    assert env.action_mask is None
    env.close()


def test_masks_of_toy_text() -> None:
    env = build_env("Taxi-v4", n_envs=2, vectorization="sync", action_masks=True)
    observation, infos = env.reset(seed=0)
    single = gym.make("Taxi-v4")
    for i in range(2):
        state, info = single.reset(seed=i)
        assert observation[i] == state
        assert np.array_equal(infos["action_mask"][i], info["action_mask"] != 0)
    env.close()


def test_an_environment_without_masks_is_named_at_its_reset() -> None:
    env = build_env("FrozenLake-v1", n_envs=2, vectorization="sync", action_masks=True)
    with pytest.raises(ConfigError, match=r"FrozenLake-v1 gives no info\['action_mask'\]"):
        env.reset(seed=0)
    env.close()


def test_a_mask_of_the_wrong_length_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    env = build("sync", n_envs=2)
    monkeypatch.setattr(env.envs[1].unwrapped, "_draw_mask", lambda: {"action_mask": [1, 0]})
    with pytest.raises(EnvironmentFailedError, match=r"environment 1 .* mask of 2 entries"):
        env.reset(seed=0)
    env.close()


def test_the_toy_ends_at_a_forbidden_action_only() -> None:
    env = MaskedEnv(length=50)
    mask = env.reset(seed=0)[1]["action_mask"]
    for _ in range(20):
        _, reward, terminated, _, info = env.step(int(np.flatnonzero(mask)[0]) - 2)
        assert not terminated
        assert reward >= 0
        mask = info["action_mask"]
    forbidden = int(np.flatnonzero(mask == 0)[0]) - 2
    _, reward, terminated, *_ = env.step(forbidden)
    assert (reward, terminated) == (-100.0, True)
    blocked = BlockedEnv()
    blocked.reset(seed=0)
    assert blocked._draw_mask()["action_mask"].any()
