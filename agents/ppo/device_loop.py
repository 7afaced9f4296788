"""What every loop that carries out whole iterations of PPO on one device has in common.

An iteration is a rollout, its returns and an update. A loop works on what belongs to others: the
parameters of the `ActorCritic`, the state of the torch optimiser (`exp_avg`, `exp_avg_sq`, `step`
of every parameter) and the tensors of the vector environment. It has no weights or episodes of its
own, so a checkpoint is the same whatever loop wrote it, and a run may go on with another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from utils.device_rollouts import EpisodeTotals


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopReport:
    """What `DeviceLoop.run` did, read back from the device once."""

    n_timesteps: int
    """Steps of single environments."""
    n_vec_steps: int
    """Steps of the vector environment."""
    n_updates: int
    """Optimiser steps."""
    episodes: EpisodeTotals
    """Raw returns and lengths of the episodes that ended."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metric key -> mean over the run's minibatches, optimiser steps or iterations (whichever the
    key belongs to), under the keys of the other paths: train/loss/{total,policy,value,entropy},
    train/policy/entropy, train/ppo/{approx_kl,clip_fraction,explained_variance},
    train/grad/{norm,norm_actor_head,norm_critic_head,norm_trunk,clipped_fraction},
    train/adv/{mean,std}, train/returns/{mean,std}, train/roll/learner_reward_mean. A key that is
    undefined (clipped_fraction without a limit, a variance without variation) is absent."""


class DeviceLoop(Protocol):
    """Carries out whole iterations on the device.

    The environment is a `TorchVectorEnv` that its owner has reset; the loop goes on with its
    running episodes and leaves it where the last iteration ended.
    """

    name: str
    """ "eager", "graph" or "fused"."""

    def run(self, n_iterations: int, hyperparameters: dict[str, float]) -> LoopReport:
        """Carry out iterations with the same hyperparameters.

        Args:
            n_iterations: At least 1.
            hyperparameters: The values of this moment: policy_lr, gamma, gae_lambda, clip_range,
                ent_coef, vf_coef, max_grad_norm and whatever else the config schedules.

        Returns:
            Counts, episodes and means over all of these iterations.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return what belongs to the loop alone, such as its random counters, as plain values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned, of this kind of loop or of another."""
