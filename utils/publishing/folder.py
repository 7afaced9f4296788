"""Writes the files of a publication: those on the list, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from utils.checkpoints import load_acting_state, weights_content
from utils.config import config_from_dict
from utils.playback.episodes import PlayedEpisode
from utils.publishing.card import CardFacts, write_card
from utils.publishing.names import CARD, CONFIG, ONNX, PUBLISHED_NAMES, RESULTS, VIDEO, WEIGHTS
from utils.publishing.plan import PublishPlan
from utils.publishing.privacy import check_content, without_home
from utils.publishing.replay import film_replay
from utils.publishing.results import PublishedResults, play_fresh_episodes, publication_seed
from utils.storage import write_bytes


class Loaded(Protocol):
    """A policy in evaluation mode on the CPU, and how long it was trained."""

    policy: nn.Module
    counters: Any


LoadPolicy = Callable[..., Loaded]
"""`load_policy(config, checkpoint, *, env)`, see `agents.loading`."""


@dataclass(frozen=True, slots=True)
class Publication:
    """Files that are ready to be sent."""

    files: dict[str, Path]
    """By name in the repository, in the order of the list."""
    results: PublishedResults
    replay: PlayedEpisode | None
    notes: list[str]
    """What a person should know, one line each."""


def write_publication(
    plan: PublishPlan, folder: Path, *, repo_id: str, token: str | None, load_policy: LoadPolicy
) -> Publication:
    """Play fresh episodes, film one, and write everything into a folder.

    Args:
        plan: What to publish.
        folder: Exists and is empty.
        repo_id: Where it will go, for the card.
        token: What opens the Hub, so that it is never written; None if there is none.
        load_policy: Builds the policy and loads a checkpoint into it.

    Raises:
        UserError: Something cannot be published; nothing has been sent.
    """
    torch.set_num_threads(plan.config.torch_threads)
    state = load_acting_state(plan.checkpoint)
    policy, timesteps = _load(plan, load_policy)
    results, replay = _judge(plan, policy, folder / VIDEO)
    settings, changed = without_home(plan.config.to_dict())
    record = results.record(plan.config, checkpoint=plan.checkpoint.stem, timesteps=timesteps)
    contents = {
        CONFIG: _json(settings),
        WEIGHTS: weights_content(state),
        RESULTS: _json(without_home(record)[0]),
    }
    onnx = None
    if plan.args.has_onnx:
        contents[ONNX], onnx = _export_onnx(plan, policy, timesteps)
    facts = CardFacts(
        repo_id=repo_id,
        config=config_from_dict(settings),
        results=results,
        replay=replay,
        timesteps=timesteps,
        onnx=onnx,
    )
    contents[CARD] = write_card(facts).encode()
    _write(folder, contents, token=token)
    notes = [
        f"config.json: '{key}' held a path of a home folder, which is published as '~'"
        for key in changed
    ]
    return Publication(_list(folder), results, replay, notes)


def _judge(
    plan: PublishPlan, policy: nn.Module, film: Path
) -> tuple[PublishedResults, PlayedEpisode | None]:
    """Play the fresh episodes, and film the first of them unless no film is wanted."""
    args, config = plan.args, plan.config
    seed = publication_seed(config) if args.seed is None else args.seed
    results = play_fresh_episodes(
        config,
        policy,
        n_episodes=args.episodes,
        seed=seed,
        deterministic=plan.is_deterministic,
        max_steps=args.max_steps,
    )
    if not args.has_video:
        return results, None
    return results, film_replay(
        config, policy, film, seed=seed, deterministic=plan.is_deterministic
    )


def _write(folder: Path, contents: Mapping[str, bytes], *, token: str | None) -> None:
    for name, content in contents.items():
        if name != WEIGHTS:  # numbers, and a head of spaces and counters
            check_content(name, content, token=token)
        write_bytes(folder / name, content, sync=False)


def _load(plan: PublishPlan, load_policy: LoadPolicy) -> tuple[nn.Module, int]:
    from utils.playback.environment import build_playback_env

    env = build_playback_env(plan.config, render_mode=None)
    try:
        loaded = load_policy(plan.config, plan.checkpoint, env=env)
    finally:
        env.close()
    return loaded.policy, loaded.counters.timesteps


def _export_onnx(
    plan: PublishPlan, policy: nn.Module, timesteps: int
) -> tuple[bytes, dict[str, Any]]:
    from utils.export.export import export_policy
    from utils.playback.environment import build_playback_env

    env = build_playback_env(plan.config, render_mode=None)
    try:
        export = export_policy(plan.config, policy, env, format="onnx", timesteps=timesteps)
    finally:
        env.close()
    return export.content, export.metadata


def _json(values: Mapping[str, Any]) -> bytes:
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _list(folder: Path) -> dict[str, Path]:
    """Return the files by name; anything else in the folder would be a mistake of this program."""
    found = {path.name: path for path in folder.iterdir()}
    assert found.keys() <= set(PUBLISHED_NAMES), sorted(found)
    assert all(path.is_file() and not path.is_symlink() for path in found.values()), found
    return {name: found[name] for name in PUBLISHED_NAMES if name in found}
