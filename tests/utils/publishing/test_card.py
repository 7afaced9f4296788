import re

import pytest
import yaml

from tests.helpers.played_runs import make_config
from tests.helpers.published import make_results
from utils.config import config_from_dict
from utils.playback.episodes import PlayedEpisode
from utils.publishing.card import CardFacts, write_card

SPEC = {"summary": "Play Pong", "action": {"labels": ["wait", "fire"]}}


def make_card(**changes):
    episode = PlayedEpisode(seed=10, episode_return=1.0, length=4, end="terminated")
    facts = {
        "repo_id": "ann/Pong",
        "config": make_config(env_id="ALE/Pong-v5", spec=SPEC),
        "results": make_results([1.0, 2.0, 6.0]),
        "replay": episode,
        "timesteps": 12_345,
        "onnx": None,
    }
    return write_card(CardFacts(**(facts | changes)))


def matter_of(card):
    return yaml.safe_load(card.split("---\n")[1])


def test_the_front_matter_follows_the_conventions_of_the_hub():
    assert matter_of(make_card()) == {
        "library_name": "gymnasium-solver",
        "pipeline_tag": "reinforcement-learning",
        "tags": [
            "ALE/Pong-v5",
            "ppo",
            "deep-reinforcement-learning",
            "reinforcement-learning",
            "custom-implementation",
            "gymnasium",
        ],
        "model-index": [
            {
                "name": "PPO",
                "results": [
                    {
                        "task": {
                            "type": "reinforcement-learning",
                            "name": "reinforcement-learning",
                        },
                        "dataset": {"name": "ALE/Pong-v5", "type": "ALE/Pong-v5"},
                        "metrics": [
                            {
                                "type": "mean_reward",
                                "name": "mean_reward",
                                "value": "3.00 +/- 2.65",
                                "verified": False,
                            }
                        ],
                    }
                ],
            }
        ],
    }


def test_a_card_tells_the_film_that_there_is():
    assert "shows the episode with seed 10: all 4 steps, return 1.00 in all" in make_card()
    part = PlayedEpisode(seed=10, episode_return=1.0, length=1000, end="cut")
    cut = make_card(replay=part)
    assert "its first 1,000 steps, return 1.00 so far" in cut
    none = make_card(replay=None)
    assert "There is no video of it." in none
    assert "replay.mp4" not in none


def test_usage_names_what_the_environment_needs_and_how_the_results_were_played():
    card = make_card()
    assert "pip install -e '.[atari,hub]'" in card
    assert "--episodes 3 --seed 10 --deterministic --render none\n" in card
    results = make_results([1.0, 2.0], is_deterministic=False, max_steps=99)
    card = make_card(results=results)
    assert "--episodes 2 --seed 10 --sampled --max-steps 99 --render none\n" in card
    assert "| sampled |" in card


def test_an_onnx_model_comes_with_its_inputs_and_lines_to_run_it():
    onnx = {
        "inputs": {
            "observation": {"shape": ["batch", 4], "dtype": "float32", "meaning": "raw"},
            "action_mask": {"shape": ["batch", 3], "dtype": "bool"},
        },
        "outputs": {"action": {"shape": ["batch"], "dtype": "int64"}},
    }
    card = make_card(onnx=onnx)
    (code,) = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)
    compile(code, "card", "exec")
    assert '"observation": np.zeros((1, 4), np.float32),' in code
    assert '"action_mask": np.ones((1, 3), np.bool_),' in code
    assert "| `observation` | in | float32 | batch, 4 | raw |" in card
    assert "| `model.onnx` |" in card
    assert "`action`: 0 wait, 1 fire." in card
    assert "onnx" not in make_card()


def test_an_onnx_model_is_run_with_two_packages():
    onnx = {"inputs": {}, "outputs": {}}
    assert "With `pip install onnxruntime huggingface_hub` alone:" in make_card(onnx=onnx)


@pytest.mark.parametrize(
    ("settings", "name", "introduction", "actions"),
    [
        (
            {"algo_id": "q_learning", "policy_lr": 0.1},
            "Q-learning",
            "trained with Q-learning by gymnasium-solver for 12,345 environment steps.",
            "most likely (greedy)",
        ),
        (
            {"algo_id": "random"},
            "random actions",
            "which draws its actions evenly: the floor of gymnasium-solver for this task.",
            "drawn evenly",
        ),
    ],
)
def test_what_is_no_deep_network_is_not_called_one(settings, name, introduction, actions):
    base = {"schema_version": 2, "config_id": "FrozenLake-v1:a", "env_id": "FrozenLake-v1"}
    config = config_from_dict(base | {"n_envs": 1, "max_timesteps": 10} | settings)
    card = make_card(config=config)
    matter = matter_of(card)
    assert "deep-reinforcement-learning" not in matter["tags"]
    assert matter["model-index"][0]["name"] == name
    assert f"# {name} on FrozenLake-v1\n" in card
    assert introduction in card
    assert f"| {actions} |" in card


@pytest.mark.parametrize(
    ("settings", "tags", "origin"),
    [
        (
            {
                "algo_id": "sb3",
                "trained_with": "Stable-Baselines3 2.9.2",
                "policy_kwargs": {"algorithm": "DQN"},
            },
            ["dqn", "stable-baselines3"],
            "trained with DQN of Stable-Baselines3 2.9.2 for 12,345 environment steps and taken",
        ),
        (
            {"algo_id": "brax", "trained_with": "brax 0.14.2 and jax 0.8.3"},
            ["ppo", "brax"],
            "trained with PPO of brax 0.14.2 and jax 0.8.3 for 12,345 environment steps",
        ),
    ],
)
def test_who_has_trained_a_policy_is_told(settings, tags, origin):
    kept = ("schema_version", "config_id", "env_id", "n_envs", "max_timesteps")
    base = {key: value for key, value in make_config().to_dict().items() if key in kept}
    card = make_card(config=config_from_dict(base | settings))
    assert origin in card
    assert matter_of(card)["tags"][1:3] == tags
