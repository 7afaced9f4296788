"""How an agent planned an action of a recorded episode: elites, and what they promise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from utils.errors import UserError
from utils.inspection.dream_replay import Shelf, replay_record
from utils.inspection.observations import ObservationReader
from utils.inspection.payload import encode_array
from utils.inspection.plan_wish import PlanWish
from utils.inspection.progress import Progress
from utils.inspection.record import EpisodeRecord
from utils.planning.plan import Stage
from utils.policies.plan_trace import Planner, PlanTrace
from utils.vector_envs import InProcessVectorEnv
from utils.world_models.observation_parts import Observation

MOST_ELITES = 16
"""That are told of each iteration, the best ones."""
_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Quantiles of what all candidates are worth."""


@dataclass(slots=True)
class _Walk:
    """What the policy remembered and would have drawn before each step of an episode so far."""

    observation: Observation
    """(T + 1, ...) of the whole episode."""
    state: list[Tensor]
    """(1, state_dim) each."""
    draws: list[Tensor] = field(default_factory=list)
    """States of the generator."""


class PlanRoom:
    """Plans of the episodes of one run, in its environment; all in the studio's thread.

    Plans are not stored with an episode: it is played again with the recorded actions, and the
    policy thinks again through it, with the draws of that time, up to the step that is asked for.
    """

    def __init__(
        self, env: InProcessVectorEnv, *, reader: ObservationReader, progress: Progress
    ) -> None:
        """Bind the environment of a run.

        Args:
            env: One environment, of which nothing is kept between calls.
            reader: Of its observations.
            progress: Is told how far things are.
        """
        self._env, self._reader, self._progress = env, reader, progress
        self._walks: Shelf[_Walk] = Shelf()

    @torch.inference_mode()
    def answer(self, record: EpisodeRecord, policy: Planner, wish: PlanWish) -> dict[str, Any]:
        """Tell how an action came about.

        Args:
            record: The episode.
            policy: That played it.
            wish: Which action.

        Returns:
            As JSON holds it, arrays by `encode_array`, actions in the environment's units; H steps
            ahead, I iterations, E elites of which S are told, A numbers of an action:
            `step`, `horizon`, `n_candidates`, `n_proposals`, `n_elites`; `action` (A,) that was
            planned and `is_done`, whether it was done; `sequence` (H, A) the plan; `reward` (H,)
            that it foresees, `weight` of each term, `tail`, the value at the horizon (None without
            one) and `promised`, the weighted sum; and of each iteration `mean` and `std` (I, H A),
            `elites` (I S, H A), `values` and `scores` (I, S), `spread` (I, 5), least, quartiles and
            most of what all candidates are worth, `counts` (I,) what the elites are worth by their
            weights, and `proposed` (I, S), 1 where the prior has proposed an elite.

        Raises:
            CannotReplayError: The environment does not go the same way again.
            UserError: There is no such step.
        """
        if not 0 <= wish.step < record.length:
            raise UserError(
                f"at step {wish.step} nothing is planned: the steps of this episode are 0 to "
                f"{record.length - 1}"
            )
        walk = self._walks.get(record.request.folder, lambda: self._begin(record, policy))
        trace = self._plan(record, policy, walk, wish.step)
        return _tell(trace, policy, record, wish.step)

    def _begin(self, record: EpisodeRecord, policy: Planner) -> _Walk:
        observation = replay_record(self._env, record, self._reader, self._progress)
        generator = torch.Generator().manual_seed(record.request.seed)
        return _Walk(observation, [policy.initial_state(1)], [generator.get_state()])

    def _plan(self, record: EpisodeRecord, policy: Planner, walk: _Walk, step: int) -> PlanTrace:
        """Think through the episode as far as nobody has, then plan at a step."""
        for t in range(len(walk.state) - 1, step):
            self._progress.note_steps(t)
            self._think(record, policy, walk, t)
        return self._think(record, policy, walk, step)

    def _think(self, record: EpisodeRecord, policy: Planner, walk: _Walk, t: int) -> PlanTrace:
        """Plan at step t, whose memory and draws are known; afterwards those of t + 1 are too."""
        generator = torch.Generator()
        generator.set_state(walk.draws[t])
        trace = policy.trace_plan(
            _row(walk.observation, t),
            generator=generator,
            deterministic=record.request.is_deterministic,
            state=walk.state[t],
        )
        if len(walk.state) == t + 1:
            walk.state.append(trace.state)
            walk.draws.append(generator.get_state())
        return trace


def _tell(trace: PlanTrace, policy: Planner, record: EpisodeRecord, step: int) -> dict[str, Any]:
    """Put everything together that a person looks at."""
    stages, worth, weight = trace.stages, trace.foreseen.worth[:, 0], trace.foreseen.weight[:, 0]
    horizon = len(trace.sequence)
    action = policy.code.to_env(trace.action)[0].reshape(-1).cpu().numpy()
    n_elites = stages[-1].values.shape[1]
    shown = min(n_elites, MOST_ELITES)
    spread = [_quantiles(stage.worth[0]) for stage in stages]
    counts = [float((stage.scores[0] * stage.values[0]).sum()) for stage in stages]
    elites = [_in_units(policy, stage.elites[:, 0, :shown]) for stage in stages]
    return {
        "step": step,
        "horizon": horizon,
        "n_candidates": stages[-1].worth.shape[1],
        "n_proposals": trace.n_proposals,
        "n_elites": n_elites,
        "action": action.tolist(),
        "is_done": bool(np.allclose(action, record.traces["action"][step], rtol=1e-4, atol=1e-5)),
        "sequence": encode_array(_in_units(policy, trace.sequence)[0].reshape(horizon, -1)),
        "reward": _encoded(worth[:horizon]),
        "weight": _encoded(weight),
        "tail": float(worth[horizon]) if len(worth) > horizon else None,
        "promised": float((worth * weight).sum()),
        "mean": encode_array(np.concatenate([_in_units(policy, s.mean) for s in stages])),
        "std": encode_array(np.concatenate([_deviation(policy, s) for s in stages])),
        "elites": encode_array(np.concatenate(elites)),
        "values": _encoded(torch.stack([stage.values[0, :shown] for stage in stages])),
        "scores": _encoded(torch.stack([stage.scores[0, :shown] for stage in stages])),
        "proposed": _encoded(
            torch.stack([stage.index[0, :shown] < trace.n_proposals for stage in stages])
        ),
        "spread": encode_array(np.stack(spread)),
        "counts": encode_array(np.array(counts)),
    }


def _quantiles(worth: Tensor) -> np.ndarray:
    """Return quantiles of what the candidates of one plan are worth, (5,)."""
    return torch.quantile(worth.float(), torch.tensor(_SHARES)).cpu().numpy()


def _in_units(policy: Planner, actions: Tensor) -> np.ndarray:
    """Return sequences (H, n, A) in the units of the environment, (n, H A)."""
    horizon, n, width = actions.shape
    flat = policy.code.to_env(actions.transpose(0, 1).reshape(-1, width))
    return flat.reshape(n, horizon * width).cpu().numpy()


def _deviation(policy: Planner, stage: Stage) -> np.ndarray:
    """Return the deviation of one plan's distribution in the units of the environment, (1, H A)."""
    scale = policy.code.scale
    assert scale is not None
    spans = torch.as_tensor(scale.half_span).reshape(-1)
    return (stage.std[:, 0] * spans).reshape(1, -1).cpu().numpy()


def _encoded(values: Tensor) -> dict[str, Any]:
    return encode_array(values.float().cpu().numpy())


def _row(observation: Observation, t: int) -> Observation:
    if isinstance(observation, dict):
        return {key: part[t : t + 1] for key, part in observation.items()}
    return observation[t : t + 1]
