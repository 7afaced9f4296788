"""The model card: the README of a repository, with the front matter that the Hub reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from utils.config import BraxConfig, Config, SB3Config
from utils.environment.families.table import family_of
from utils.playback.episodes import PlayedEpisode
from utils.publishing.names import CARD, CONFIG, LIBRARY, ONNX, RESULTS, VIDEO, WEIGHTS
from utils.publishing.results import PublishedResults
from utils.reports.sections import markdown_table, settings_section

_ALGORITHMS = {"q_learning": "Q-learning", "random": "random actions"}
"""Names that are not the id in capitals."""
_NOT_DEEP = frozenset(_ALGORITHMS)
_FILES = {
    WEIGHTS: "weights and normaliser statistics; its head holds spaces and counters as text",
    CONFIG: "every setting; it alone rebuilds environment, wrappers and networks",
    RESULTS: "each episode's seed, return and length, and the versions it was played with",
    VIDEO: "the film of one episode",
    ONNX: "the policy as a program of its own, normaliser inside",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CardFacts:
    """All that a card tells."""

    repo_id: str
    config: Config
    """As it is published."""
    results: PublishedResults
    replay: PlayedEpisode | None
    """What the film shows, `cut` where it ends before the episode; None without a film."""
    timesteps: int
    onnx: Mapping[str, Any] | None
    """What the ONNX model says about itself (see `describe_program`); None without one."""


def write_card(facts: CardFacts) -> str:
    """Return the card as Markdown with front matter."""
    parts = [
        _front_matter(facts),
        f"# {_algorithm(facts)} on {facts.config.env_id}",
        _introduction(facts),
        "## Results",
        _results(facts),
        "## Use",
        _usage(facts),
        *(["### Without this project", _onnx_usage(facts)] if facts.onnx else []),
        "## Files",
        _files(facts),
        "## Training",
        _training(facts),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _algorithm(facts: CardFacts) -> str:
    config = facts.config
    if isinstance(config, SB3Config):
        return config.policy_kwargs.algorithm
    if isinstance(config, BraxConfig):
        return "PPO"
    algo_id = config.algo_id
    return _ALGORITHMS.get(algo_id, algo_id.upper())


def _front_matter(facts: CardFacts) -> str:
    env_id = facts.config.env_id.rpartition(":")[2]
    metric = {
        "type": "mean_reward",
        "name": "mean_reward",
        "value": facts.results.mean_reward,
        "verified": False,
    }
    result = {
        "task": {"type": "reinforcement-learning", "name": "reinforcement-learning"},
        "dataset": {"name": env_id, "type": env_id},
        "metrics": [metric],
    }
    matter = {
        "library_name": LIBRARY,
        "pipeline_tag": "reinforcement-learning",
        "tags": [
            env_id,
            *_algorithm_tags(facts),
            *(() if facts.config.algo_id in _NOT_DEEP else ("deep-reinforcement-learning",)),
            "reinforcement-learning",
            "custom-implementation",
            "gymnasium",
        ],
        "model-index": [{"name": _algorithm(facts), "results": [result]}],
    }
    text = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{text}---"


def _algorithm_tags(facts: CardFacts) -> list[str]:
    """Return what people search for: of a policy that others have trained the library as well."""
    match facts.config:
        case SB3Config():
            return [_algorithm(facts).lower(), "stable-baselines3"]
        case BraxConfig():
            return [_algorithm(facts).lower(), "brax"]
    return [facts.config.algo_id]


def _introduction(facts: CardFacts) -> str:
    config = facts.config
    task = config.spec.summary.rstrip(".")
    task = f" ({task[0].lower()}{task[1:]})" if task else ""
    lines = [f"A policy for `{config.env_id}`{task}, {_origin(facts)}."]
    episode = facts.replay
    if episode is None:
        lines.append("There is no video of it.")
    else:
        part = "its first" if episode.end == "cut" else "all"
        end = "so far" if episode.end == "cut" else "in all"
        lines.append(
            f"[{VIDEO}]({VIDEO}) shows the episode with seed {episode.seed}: {part} "
            f"{episode.length:,} steps, return {episode.episode_return:,.2f} {end}."
        )
    return "\n".join(lines)


def _origin(facts: CardFacts) -> str:
    if facts.config.algo_id == "random":
        return f"which draws its actions evenly: the floor of {LIBRARY} for this task"
    steps = f"{facts.timesteps:,} environment steps"
    if isinstance(facts.config, SB3Config | BraxConfig):
        by = facts.config.trained_with
        return f"trained with {_algorithm(facts)} of {by} for {steps} and taken over by {LIBRARY}"
    return f"trained with {_algorithm(facts)} by {LIBRARY} for {steps}"


def _how_it_acts(facts: CardFacts) -> str:
    if facts.config.algo_id == "random":
        return "drawn evenly"
    return "most likely (greedy)" if facts.results.is_deterministic else "sampled"


def _results(facts: CardFacts) -> str:
    results, config = facts.results, facts.config
    n = len(results.episodes)
    lengths = [episode.length for episode in results.episodes]
    table = markdown_table(
        ("mean return", "lowest", "highest", "mean length", "episodes", "actions"),
        [
            (
                results.mean_reward,
                f"{min(results.returns):,.2f}",
                f"{max(results.returns):,.2f}",
                f"{sum(lengths) / n:,.1f}",
                n,
                _how_it_acts(facts),
            )
        ],
    )
    lines = [
        table,
        "",
        f"Mean and standard deviation of the raw, undiscounted returns of {n} whole episodes with "
        f"the seeds {results.seed} to {results.seed + n - 1}, which the policy had never met. "
        f"[{RESULTS}]({RESULTS}) has each of them.",
    ]
    if config.spec.solved_threshold is not None:
        lines.append(
            f"The task counts as solved at a mean return of {config.spec.solved_threshold:g}."
        )
    return "\n".join(lines)


def _usage(facts: CardFacts) -> str:
    results, repo_id = facts.results, facts.repo_id
    how = "--deterministic" if results.is_deterministic else "--sampled"
    limit = "" if results.max_steps is None else f" --max-steps {results.max_steps}"
    extras = ",".join(sorted({"hub", *_needed_extras(facts.config)}))
    return "\n".join(
        [
            f"In a checkout of {LIBRARY}, installed with `pip install -e '.[{extras}]'`:",
            "",
            "```bash",
            "# watch it: a window, or a video where there is no display",
            f"python run_play.py --repo {repo_id} --episodes 5 --seed 7",
            "# the results above, episode by episode",
            f"python run_play.py --repo {repo_id} --episodes {len(results.episodes)} "
            f"--seed {results.seed} {how}{limit} --render none",
            "```",
            "",
            "Settings and weights are read as data (JSON, safetensors); no code comes with them.",
        ]
    )


def _needed_extras(config: Config) -> set[str]:
    family = family_of(config.env_id)
    extras = {family.extra} if family.extra else set()
    return extras | ({"image"} if config.resize_obs else set())


def _onnx_usage(facts: CardFacts) -> str:
    assert facts.onnx is not None
    arrays = [
        f'    "{name}": np.{_maker(name)}('
        f"{(1, *entry['shape'][1:])!r}, np.{_dtype(entry['dtype'])}),"
        for name, entry in facts.onnx["inputs"].items()
    ]
    rows = [
        (f"`{name}`", kind, entry["dtype"], ", ".join(map(str, entry["shape"])), _meaning(entry))
        for kind, names in (("in", "inputs"), ("out", "outputs"))
        for name, entry in facts.onnx[names].items()
    ]
    return "\n".join(
        [
            "With `pip install onnxruntime huggingface_hub` alone:",
            "",
            "```python",
            "import numpy as np",
            "import onnxruntime",
            "from huggingface_hub import hf_hub_download",
            "",
            f'path = hf_hub_download("{facts.repo_id}", "{ONNX}")',
            "session = onnxruntime.InferenceSession(path)",
            "inputs = {",
            *arrays,
            "}",
            "names = [output.name for output in session.get_outputs()]",
            "outputs = dict(zip(names, session.run(None, inputs)))",
            'print(outputs["action"])',
            "```",
            "",
            markdown_table(("name", "", "type", "shape", "meaning"), rows),
            *_label_lines(facts.config),
        ]
    )


def _label_lines(config: Config) -> list[str]:
    """Say what the numbers of observations and actions stand for, where the config does."""
    lines = []
    for name, spec in (("observation", config.spec.observation), ("action", config.spec.action)):
        if spec.labels:
            listed = ", ".join(f"{k} {label}" for k, label in enumerate(spec.labels))
            lines += ["", f"`{name}`: {listed}."]
    return lines


def _meaning(entry: Mapping[str, Any]) -> str:
    """Return what an input or output of a program means; empty where that is not known."""
    return str(entry.get("meaning", ""))


def _maker(name: str) -> str:
    return "ones" if name == "action_mask" else "zeros"


def _dtype(name: str) -> str:
    return "bool_" if name == "bool" else name


def _files(facts: CardFacts) -> str:
    left_out = set()
    if facts.replay is None:
        left_out.add(VIDEO)
    if facts.onnx is None:
        left_out.add(ONNX)
    rows = [(f"`{name}`", text) for name, text in _FILES.items() if name not in left_out]
    return markdown_table(("file", "what"), [(f"`{CARD}`", "this card"), *rows])


def _training(facts: CardFacts) -> str:
    config = facts.config
    return "\n".join(
        [
            f"Config `{config.config_id}`, seed {config.seed}.",
            "",
            settings_section(config),
        ]
    )
