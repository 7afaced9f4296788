"""The loop of fused kernels: weights in, iterations as replays of one CUDA graph, weights out."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from triton import language

from agents.ppo.device_loop import LoopReport
from agents.ppo.fused.availability import find_unsupported
from agents.ppo.fused.iteration import (
    HYPERPARAMETERS,
    N_TOTALS,
    FusedIteration,
    IterationSettings,
)
from agents.ppo.fused.layout import parameter_views, policy_layout
from gym_envs.torch_envs import TorchVectorEnv
from utils.config import PPOConfig
from utils.device_rollouts import EpisodeTotals, join_totals
from utils.normalization.observation import StaticNormalizer
from utils.optimization.capture import capturing
from utils.policy_factory import ActorCritic
from utils.seeding import derive_seed

if TYPE_CHECKING:
    from utils.distributed.team import Team


def _observation_scale(policy: ActorCritic) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    normalizer = policy.normalizer
    if not isinstance(normalizer, StaticNormalizer):
        assert normalizer.is_identity, normalizer
        return None
    return tuple(normalizer.centre.tolist()), tuple(normalizer.half_range.tolist())


class FusedLoop:
    """Carries out iterations in Triton kernels; see `agents.ppo.fused`.

    The kernels have the weights and moments in a layout of their own. At the start of a run they
    are copied there if someone else has changed them since, and at its end back, all on the device.
    Hyperparameters are read from the device and may change from run to run.

    With Triton's interpreter it works on the CPU too, without a graph, very slowly.
    """

    name = "fused"

    def __init__(
        self,
        policy: ActorCritic,
        config: PPOConfig,
        env: TorchVectorEnv,
        optimizer: torch.optim.Optimizer,
        *,
        dtype: Any = language.float16,
        team: Team | None = None,
        seed_index: int = 0,
    ) -> None:
        """Allocate the kernels' memory; nothing is compiled or captured yet.

        Args:
            policy: One that `find_unsupported` has nothing against.
            config: Of the run.
            env: The training environment.
            optimizer: Adam or AdamW over all parameters of `policy`, in one group.
            dtype: Triton's type of the operands of matrix products.
            team: The processes that train together; None for one alone.
            seed_index: Which seed of those of actions and order is this process's.
        """
        reason = find_unsupported(policy, config, env)
        assert reason is None, reason
        self.policy, self.optimizer = policy, optimizer
        self._parameters: list[nn.Parameter] = list(policy.parameters())
        assert len(optimizer.param_groups) == 1, len(optimizer.param_groups)
        group = optimizer.param_groups[0]
        self.iteration = FusedIteration(
            policy_layout(policy),
            env,
            IterationSettings(
                n_steps=config.n_steps,
                n_epochs=config.n_epochs,
                n_minibatches=config.rollout_size // config.resolved_batch_size,
                normalize_advantages=config.normalize_advantages,
                betas=tuple(group["betas"]),
                eps=group["eps"],
                weight_decay=group["weight_decay"],
                is_decoupled=config.optimizer == "AdamW",
                reward_scale=config.reward_scale,
                observation_scale=_observation_scale(policy),
                seed=derive_seed(config.seed, "policy", seed_index),
            ),
            dtype=dtype,
            team=team,
        )
        layout, iteration = self.iteration.layout, self.iteration
        self._views, self._first_views, self._second_views = (
            parameter_views(layout, policy, flat)
            for flat in (iteration.parameters, iteration.exp_avg, iteration.exp_avg_sq)
        )
        self._is_cuda = iteration.device.type == "cuda"
        self._report = torch.zeros(N_TOTALS + 5, dtype=torch.float64, device=iteration.device)
        self._host_hyper = torch.zeros(8, pin_memory=self._is_cuda)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._export_graph: torch.cuda.CUDAGraph | None = None
        self._known: list[tuple[int, int]] = []
        self._exported_to: list[int] = []

    # -- the loop --------------------------------------------------------------------------------

    def run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        """Carry out iterations with the same hyperparameters; see `DeviceLoop`."""
        assert n_iterations >= 1, n_iterations
        with torch.cuda.device(self.iteration.device) if self._is_cuda else nullcontext():
            return self._run(n_iterations, hyperparameters)

    def _run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        iteration = self.iteration
        assert iteration.env.seed is not None, "the environment has not been reset"
        self._write_hyperparameters(hyperparameters)
        if self._versions() != self._known:
            self._import()
        if self._is_cuda and self._graph is None:
            self._graph = self._capture_iteration()
        iteration.begin()
        for _ in range(n_iterations):
            if self._graph is None:
                iteration.carry_out()
            else:
                self._graph.replay()
        self._export()
        return self._read_report(n_iterations, hyperparameters)

    def _write_hyperparameters(self, hyperparameters: dict[str, float]) -> None:
        limit = {"max_grad_norm": math.inf}
        values = [(limit | hyperparameters)[name] for name in HYPERPARAMETERS]
        self._host_hyper[: len(values)] = torch.tensor(values)
        self.iteration.hyper.copy_(self._host_hyper, non_blocking=True)
        for group in self.optimizer.param_groups:
            group["lr"] = hyperparameters["policy_lr"]

    def _capture_iteration(self) -> torch.cuda.CUDAGraph:
        """Compile everything, try it by one iteration that is taken back, then capture."""
        self.iteration.compile()
        restore = self._snapshot()
        self.iteration.carry_out()
        restore()
        return _capture(self.iteration.carry_out)

    def _snapshot(self) -> Callable[[], None]:
        iteration, env = self.iteration, self.iteration.env
        changed = (
            iteration.parameters,
            iteration.exp_avg,
            iteration.exp_avg_sq,
            iteration.counters,
            env.state,
            env.elapsed,
            env.episode_return,
            env.episode,
        )
        before = [tensor.clone() for tensor in changed]

        def restore() -> None:
            for tensor, copy in zip(changed, before, strict=True):
                tensor.copy_(copy)

        return restore

    # -- weights and moments ---------------------------------------------------------------------

    def _optimizer_states(self) -> list[dict[str, Tensor]]:
        """Return the optimiser's state of every parameter, made as its first step would."""
        group, states = self.optimizer.param_groups[0], []
        for parameter in self._parameters:
            state = self.optimizer.state[parameter]
            if not state:
                on_device = group.get("fused") or group.get("capturable")
                state["step"] = torch.zeros((), device=parameter.device if on_device else "cpu")
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            states.append(state)
        return states

    def _outside(self) -> list[Tensor]:
        states = self._optimizer_states()
        keys = ("exp_avg", "exp_avg_sq", "step")
        return [*self._parameters, *(state[key] for state in states for key in keys)]

    def _versions(self) -> list[tuple[int, int]]:
        """Return address and version of everything that the kernels have a copy of.

        A replayed graph writes without counting, so what we write ourselves changes no version.
        """
        return [(tensor.data_ptr(), tensor._version) for tensor in self._outside()]

    @torch.no_grad()
    def _import(self) -> None:
        states = self._optimizer_states()
        for k, (parameter, state) in enumerate(zip(self._parameters, states, strict=True)):
            self._views[k].copy_(parameter)
            self._first_views[k].copy_(state["exp_avg"])
            self._second_views[k].copy_(state["exp_avg_sq"])
        self.iteration.counters[1] = int(states[0]["step"])
        self._known = self._versions()

    def _export(self) -> None:
        """Copy weights and moments back; on CUDA as one graph, with the report's sums."""
        if not self._is_cuda:
            self._write_back()
            self._known = self._versions()
            return
        addresses = [tensor.data_ptr() for tensor in self._outside()]
        if self._export_graph is None or addresses != self._exported_to:
            self._write_back()
            torch.cuda.synchronize(self.iteration.device)
            self._export_graph = _capture(self._write_back)
            self._exported_to = addresses
            self._known = self._versions()
        self._export_graph.replay()
        for state in self._optimizer_states():
            if state["step"].device.type == "cpu":
                state["step"].fill_(int(self.iteration.counters[1]))
                self._known = self._versions()

    @torch.no_grad()
    def _write_back(self) -> None:
        iteration = self.iteration
        step = iteration.counters[1]
        for k, state in enumerate(self._optimizer_states()):
            self._parameters[k].copy_(self._views[k])
            state["exp_avg"].copy_(self._first_views[k])
            state["exp_avg_sq"].copy_(self._second_views[k])
            if state["step"].device == step.device:
                state["step"].copy_(step)
        episodes = iteration.episodes
        sums = episodes.double().sum(dim=0)
        low, high = episodes[:, 2].amin(), episodes[:, 3].amax()
        self._report[:N_TOTALS] = iteration.totals
        self._report[N_TOTALS:] = torch.stack((sums[0], sums[1], low, high, sums[4]))

    # -- what is told ----------------------------------------------------------------------------

    def _read_report(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        iteration = self.iteration
        parts = [self._report.tolist()]
        if iteration.team is not None:
            parts = iteration.team.gather(parts[0])
        totals = [sum(column) / len(parts) for column in zip(*parts, strict=True)][:N_TOTALS]
        n_vec_steps = n_iterations * iteration.settings.n_steps
        return LoopReport(
            n_timesteps=n_vec_steps * iteration.n_envs * len(parts),
            n_vec_steps=n_vec_steps,
            n_updates=n_iterations * iteration.n_updates,
            episodes=join_totals([_episodes(part[N_TOTALS:]) for part in parts]),
            metrics=_metrics(totals, n_iterations * iteration.n_updates, hyperparameters),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return how many iterations lie behind: with the seed, that is all there is."""
        return {"iteration": int(self.iteration.counters[0])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned.

        The state of another kind of loop says nothing here: numbers then begin with iteration 0,
        of a stream that that loop has not used.
        """
        self.iteration.counters[0] = int(state.get("iteration", 0))


def _episodes(sums: list[float]) -> EpisodeTotals:
    """Name what the episodes of one process came to."""
    return EpisodeTotals(
        n_episodes=int(sums[1]),
        return_sum=sums[0],
        return_min=sums[2],
        return_max=sums[3],
        length_sum=sums[4],
    )


def _metrics(
    totals: list[float], n_updates: int, hyperparameters: dict[str, float]
) -> dict[str, float]:
    """Name the means that `record_kernel` has summed up."""
    policy, entropy, kl, clipped, value = (x / n_updates for x in totals[:5])
    actor, critic, trunk, norm, limited = (x / n_updates for x in totals[5:10])
    n_iterations = totals[17]
    weighted = hyperparameters["vf_coef"] * value - hyperparameters["ent_coef"] * entropy
    metrics = {
        "train/loss/total": policy + weighted,
        "train/loss/policy": policy,
        "train/loss/value": value,
        "train/loss/entropy": -entropy,
        "train/policy/entropy": entropy,
        "train/ppo/approx_kl": kl,
        "train/ppo/clip_fraction": clipped,
        "train/grad/norm": norm,
        "train/grad/norm_actor_head": actor,
        "train/grad/norm_critic_head": critic,
        "train/grad/norm_trunk": trunk,
        "train/adv/mean": totals[10] / n_iterations,
        "train/adv/std": totals[11] / n_iterations,
        "train/returns/mean": totals[12] / n_iterations,
        "train/returns/std": totals[13] / n_iterations,
        "train/roll/learner_reward_mean": totals[14] / n_iterations,
    }
    if "max_grad_norm" in hyperparameters:
        metrics["train/grad/clipped_fraction"] = limited
    if totals[16] > 0:
        metrics["train/ppo/explained_variance"] = totals[15] / totals[16]
    return metrics


def _capture(function: Callable[[], None]) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with capturing(graph):
        function()
    return graph
