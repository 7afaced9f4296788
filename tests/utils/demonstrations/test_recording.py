from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.policies import build_linear_policy
from utils.demonstrations import recording as recording_module
from utils.demonstrations.dataset_ids import dataset_folder, has_dataset
from utils.demonstrations.minari_files import read_dataset
from utils.demonstrations.recording import (
    EPISODES_AT_ONCE,
    Recording,
    play_side_by_side,
    record,
)
from utils.environment import build_env
from utils.errors import UserError

pytest.importorskip("minari")
pytest.importorskip("h5py")


@pytest.fixture(autouse=True)
def _own_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))


def build(env_id: str = "CartPole-v1", n_envs: int = EPISODES_AT_ONCE) -> Any:
    return build_env(env_id, n_envs=n_envs, vectorization="sync")


def record_all(n_episodes: int, told: list[int] | None = None, **settings: Any) -> Any:
    env = build()
    kept = Recording("toys/cart-v0", {"seed": 3} | settings)
    record(
        kept,
        env,
        build_linear_policy(env),
        n_episodes=n_episodes,
        seed=3,
        deterministic=False,
        max_steps=None,
        tell=(told if told is not None else []).append,
    )
    result = kept.finish(n_episodes, env, facts={"description": "toys"})
    env.close()
    return result


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_each_episode_is_the_one_that_it_would_be_alone(env_id: str, deterministic: bool) -> None:
    env, alone = build(env_id, 3), build(env_id, 1)
    policy = build_linear_policy(env)
    how = {"deterministic": deterministic, "max_steps": 40}
    together = play_side_by_side(env, policy, seed=5, **how)
    for k, episode in enumerate(together):
        (single,) = play_side_by_side(alone, policy, seed=5 + k, **how)
        assert episode.seed == 5 + k
        assert np.array_equal(episode.observation, single.observation)
        assert np.array_equal(episode.action, single.action)
        assert np.array_equal(episode.reward, single.reward)
    env.close()
    alone.close()


def test_an_episode_ends_with_its_own_last_state() -> None:
    """Played again with its actions, an episode shows the same states to the last."""
    env, again = build(n_envs=4), build(n_envs=1)
    for episode in play_side_by_side(
        env, build_linear_policy(env), seed=0, deterministic=False, max_steps=None
    ):
        assert episode.terminated
        assert len(episode.observation) == len(episode.action) + 1
        shown, _ = again.reset(seed=episode.seed)
        for t, action in enumerate(episode.action):
            assert np.array_equal(shown[0], episode.observation[t])
            shown, _, terminated, _, infos = again.step(action[None])
        assert terminated[0]
        assert np.array_equal(infos["final_obs"][0], episode.observation[-1])
    env.close()
    again.close()


def test_a_dataset_holds_what_was_asked_for_and_the_pieces_are_gone() -> None:
    told: list[int] = []
    folder, returns = record_all(10, told)
    assert told == [0, 8, 10]
    assert len(returns) == 10
    env = build(n_envs=1)
    spaces = env.single_observation_space, env.single_action_space
    data = read_dataset("toys/cart-v0", *spaces, n_episodes=None, download=False)
    env.close()
    assert data.returns.tolist() == returns.tolist()
    assert sorted(path.name for path in folder.parent.iterdir()) == [
        "cart-v0",
        "namespace_metadata.json",
    ]


def test_a_recording_that_was_stopped_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = record_all(20)
    expected = whole[1].tolist()
    dataset_folder("toys/cart-v0").rename(dataset_folder("toys/whole-v0"))
    play, n_calls = recording_module.play_side_by_side, []

    def stop_in_the_second(*args: Any, **kwargs: Any) -> Any:
        n_calls.append(kwargs["seed"])
        if len(n_calls) == 2:
            raise KeyboardInterrupt
        return play(*args, **kwargs)

    monkeypatch.setattr(recording_module, "play_side_by_side", stop_in_the_second)
    with pytest.raises(KeyboardInterrupt):
        record_all(20)
    assert not has_dataset("toys/cart-v0")
    _, returns = record_all(20)
    assert n_calls == [3, 11, 11, 19]  # what was recorded is not played again
    assert returns.tolist() == expected


def test_a_recording_of_other_settings_is_not_gone_on_with() -> None:
    Recording("toys/cart-v0", {"seed": 3, "run": "a"})
    with pytest.raises(UserError, match="of another seed was begun under this name"):
        Recording("toys/cart-v0", {"seed": 4, "run": "a"})
