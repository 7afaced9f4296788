"""A model that was trained behind a `VecNormalize` gives its own returns in every tool."""

from __future__ import annotations

import json
import re
import sys

import gymnasium as gym
import numpy as np
import pytest

from agents.loading import load_policy
from scripts import import_sb3
from tests.helpers.commands import Command, error_lines, only_run
from utils.config import load_config_json
from utils.inspection.record import EpisodeRequest
from utils.inspection.store import fingerprint
from utils.inspection.studio import Studio
from utils.run import Run

sb3 = pytest.importorskip("stable_baselines3")
pytest.importorskip("huggingface_hub")
pytest.importorskip("safetensors")

from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402

SEED = 7
N = 3
TOLERANCE = {"rel": 1e-3, "abs": 1e-2}
"""Rounding of two networks' sums grows over the 200 steps of an episode."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Train a moment, and save model and statistics where they are looked for."""
    folder = tmp_path_factory.mktemp("sb3")
    env = VecNormalize(DummyVecEnv([lambda: gym.make("Pendulum-v1")] * 2), gamma=0.9)
    model = sb3.PPO("MlpPolicy", env, n_steps=256, gamma=0.9, seed=0, device="cpu")
    model.learn(1024)
    model.save(folder / "best_model.zip")
    env.save(str(folder / "vecnormalize.pkl"))
    return folder


@pytest.fixture(scope="module")
def theirs(folder):
    """Return actions and return of each episode as Stable-Baselines3 plays it, by its seed."""
    model = sb3.PPO.load(folder / "best_model.zip", device="cpu")
    env = VecNormalize.load(
        str(folder / "vecnormalize.pkl"), DummyVecEnv([lambda: gym.make("Pendulum-v1")])
    )
    env.training = env.norm_reward = False

    def play(seed):
        env.seed(seed)
        observation, actions, total, done = env.reset(), [], 0.0, False
        while not done:
            action, _ = model.predict(observation, deterministic=True)
            observation, reward, (done,), _ = env.step(action)
            actions.append(action[0])
            total += float(reward[0])
        return np.array(actions), total

    return play


@pytest.fixture(scope="module")
def run(folder) -> Run:
    """Import it by the command; the statistics beside the model are found."""
    runs_dir = folder / "runs"
    words = [str(folder / "best_model.zip"), "--env", "Pendulum-v1", "--episodes", "2"]
    words += ["--set", "vectorization=sync"]  # whose episodes have Gymnasium's dice
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["import_sb3.py", *words, "--runs-dir", str(runs_dir)])
        assert import_sb3.main() == 0
    return only_run(runs_dir)


def test_it_was_judged_by_its_own_returns(run, theirs):
    test = json.loads(run.results_path.read_text())["test"]["best"]
    assert len(test["returns"]) == 2
    wanted = [theirs(test["seed"] + i)[1] for i in range(2)]
    assert sorted(test["returns"]) == pytest.approx(sorted(wanted), **TOLERANCE)


def test_it_is_played_as_there(run, theirs):
    words = ["--run-id", str(run.path), "--seed", str(SEED), "--episodes", str(N)]
    played = Command("run_play", *words, "--render", "none").wait()
    assert played.code == 0, played.err
    found = re.findall(r"^ +\d+ +(\d+) +(-[\d,.]+) +200", played.out, re.MULTILINE)
    assert [int(seed) for seed, _ in found] == [SEED, SEED + 1, SEED + 2]
    for seed, shown in found:
        wanted = theirs(int(seed))[1]
        assert float(shown.replace(",", "")) == pytest.approx(wanted, **TOLERANCE)


def test_it_is_inspected_as_there(run, theirs):
    checkpoint = run.checkpoint("@best")
    request = EpisodeRequest(
        checkpoint=checkpoint.stem,
        fingerprint=fingerprint(checkpoint),
        seed=SEED,
        is_deterministic=True,
    )
    studio = Studio(load_policy)
    try:
        record = studio.record(run, load_config_json(run.config_path), request).record
    finally:
        studio.close()
    actions, total = theirs(SEED)
    assert record.episode_return == pytest.approx(total, **TOLERANCE)
    chosen = np.clip(record.traces["action"], -2.0, 2.0)  # as both send them
    # Rounding grows along the episode: at its beginning it is that of one network.
    np.testing.assert_allclose(chosen[:20], actions[:20], rtol=1e-3, atol=1e-3)


def test_it_is_published_with_its_own_returns(run, theirs):
    words = ["--run-id", str(run.path), "--dry-run", "--episodes", str(N)]
    published = Command("run_publish", *words).wait()
    assert published.code == 0, published.err
    assert error_lines(published) == []
    results = json.loads((run.path / "publish" / "results.json").read_text())
    wanted = [theirs(seed)[1] for seed in results["seeds"]]
    assert results["returns"] == pytest.approx(wanted, **TOLERANCE)
    card = (run.path / "publish" / "README.md").read_text()
    assert "trained with PPO of Stable-Baselines3" in card
