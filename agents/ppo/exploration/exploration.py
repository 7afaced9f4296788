"""A bonus beside PPO's own reward.

Burda et al. 2019, "Exploration by Random Network Distillation", algorithm 1, with any measure of
novelty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from agents.ppo.exploration.intrinsic_critic import IntrinsicCritic
from agents.ppo.exploration.observation_rows import cut, map_parts
from agents.ppo.ppo_losses import value_loss
from utils.exploration import IntrinsicRewardScale, Novelty, Transition
from utils.optimization import build_optimizer, clip_and_step, set_learning_rate
from utils.policies.actor_critic import ActorCritic, Observation
from utils.returns import explained_variance, generalized_advantage
from utils.rollouts import RolloutBuffer
from utils.rollouts.transitions import TransitionRecord

_MOST_ROWS = 4096
"""Of a forward pass over a whole rollout: pictures would not fit into memory all at once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExplorationSettings:
    """How the bonus is used; the values mean what the config keys of the same names say."""

    gamma: float
    episodic: bool
    learning_rate: float
    update_proportion: float
    n_epochs: int
    batch_size: int


@dataclass(frozen=True, slots=True)
class _Targets:
    """What the bonus networks and the intrinsic critic learn from, (T * N, ...), time-major."""

    transition: Transition
    seen: Observation
    """As the policy saw them."""
    returns: Tensor
    """(T * N,) of the intrinsic rewards."""

    def pick(self, index: Tensor) -> _Targets:
        def pick(field: Tensor) -> Tensor:
            return field.index_select(0, index)

        observation, action, following = self.transition
        return _Targets(
            Transition(map_parts(observation, pick), pick(action), map_parts(following, pick)),
            map_parts(self.seen, pick),
            pick(self.returns),
        )


class Exploration:
    """Rewards what is new with an advantage stream of its own, and learns what was seen.

    The intrinsic return has its own discount and, unless it is episodic, does not end where an
    episode does: what a reset hides may still be found later (section 2.3). Because it has its own
    critic too, the environment's reward, its returns and its critic are what they would be without.

    Differs: the intrinsic critic has layers of its own instead of a second head on PPO's critic, so
    PPO's update stays what it is, compiled or not, and the policy's file does not know of bonuses.
    """

    def __init__(
        self,
        novelty: Novelty,
        critic: IntrinsicCritic,
        record: TransitionRecord,
        settings: ExplorationSettings,
        *,
        n_envs: int,
        device: torch.device,
        seed: int,
    ) -> None:
        """Put the networks together, on `device`.

        Args:
            novelty: Measures what is new.
            critic: Learns the intrinsic return.
            record: Is filled by the collector.
            settings: See there.
            n_envs: Number of environments.
            device: Where the networks live.
            seed: Of the order of samples and of the choice of those that the novelty learns from.
        """
        self.novelty, self.critic = novelty.to(device), critic.to(device)
        self.record = record
        self.settings = settings
        self.scale = IntrinsicRewardScale(n_envs)
        self.device = device
        self._learnt = [p for p in novelty.parameters() if p.requires_grad]
        self._valued = list(critic.parameters())
        lr = settings.learning_rate
        self._novelty_optimizer = build_optimizer("Adam", self._learnt, lr=lr, kwargs={})
        self._critic_optimizer = build_optimizer("Adam", self._valued, lr=lr, kwargs={})
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)
        self._targets: _Targets | None = None

    # -- after a rollout ------------------------------------------------------------------------

    def compute_advantage(
        self, buffer: RolloutBuffer, policy: ActorCritic, *, gae_lambda: float
    ) -> tuple[Tensor, dict[str, float]]:
        """Reward the rollout that was just collected for what is new in it.

        The running moments of observations and of the intrinsic return take it in first.

        Args:
            buffer: Written, not finished.
            policy: Its normaliser made the observations in the buffer.
            gae_lambda: Trace decay in [0, 1].

        Returns:
            Advantage of the bonus, (T, N) on the CPU, and metrics.
        """
        transition = self._transition(buffer)
        self.novelty.whitening.update(transition.next_observation)
        bonus = self._bonus(transition).view(buffer.n_steps, -1).cpu()
        terminated, done = self._ends(buffer)
        self.scale.update(bonus, done, gamma=self.settings.gamma)
        reward = self.scale(bonus)
        value, next_value = self._values(buffer, policy)
        advantage, returns = generalized_advantage(
            reward=reward,
            value=value,
            next_value=next_value,
            terminated=terminated,
            done=done,
            gamma=self.settings.gamma,
            gae_lambda=gae_lambda,
        )
        seen = map_parts(buffer.observation, lambda part: self._flat(buffer.rows(part)))
        self._targets = _Targets(transition, seen, self._flat(returns))
        return advantage, _rollout_metrics(bonus, reward, advantage, value=value, returns=returns)

    def _flat(self, field: Tensor) -> Tensor:
        return field.flatten(0, 1).to(self.device)

    def _transition(self, buffer: RolloutBuffer) -> Transition:
        return Transition(
            map_parts(self.record.observation(), self._flat),
            self._flat(buffer.rows(buffer.action)),
            map_parts(self.record.next_observation(), self._flat),
        )

    def _ends(self, buffer: RolloutBuffer) -> tuple[Tensor, Tensor]:
        """Return where the intrinsic return ends, and where its trace does; (T, N) bool each."""
        terminated, done = buffer.rows(buffer.terminated), buffer.rows(buffer.done)
        if self.settings.episodic:
            return terminated, done
        return torch.zeros_like(terminated), torch.zeros_like(done)

    @torch.no_grad()
    def _bonus(self, transition: Transition) -> Tensor:
        observation, action, following = transition
        parts = [
            self.novelty.bonus(
                Transition(cut(observation, some), action[some], cut(following, some))
            )
            for some in _slices(transition.n)
        ]
        return torch.cat(parts)

    @torch.no_grad()
    def _predict(self, seen: Observation, n: int) -> Tensor:
        """Return the intrinsic values of n normalised observations, (n,) on the CPU."""
        parts = [self.critic(map_parts(cut(seen, some), self._to_device)) for some in _slices(n)]
        return torch.cat(parts).cpu()

    def _values(self, buffer: RolloutBuffer, policy: ActorCritic) -> tuple[Tensor, Tensor]:
        """Return V of what each step saw and of what it led to, (T, N) each.

        What follows the end of an episode is the next episode's first observation, unless the
        return is episodic: then it is the final observation.
        """
        shape = (buffer.n_steps, buffer.n_envs)
        seen = map_parts(buffer.observation, lambda part: buffer.rows(part).flatten(0, 1))
        value = self._predict(seen, shape[0] * shape[1]).view(shape)
        last = policy.normalize(map_parts(self.record.last_observation(), self._to_device))
        next_value = torch.cat([value[1:], self._predict(last, shape[1]).unsqueeze(0)])
        if self.settings.episodic:
            for t, index, final in self.record.finals():
                final_seen = policy.normalize(map_parts(final, self._to_device))
                next_value[t, index] = self._predict(final_seen, len(index))
        return value, next_value

    def _to_device(self, part: Tensor) -> Tensor:
        return part.to(self.device)

    # -- the update -----------------------------------------------------------------------------

    def learn(self, *, value_lr: float, max_grad_norm: float | None) -> dict[str, float]:
        """Learn from the rollout that was rewarded last, in passes and minibatches like PPO's.

        The networks share nothing with the policy, so it does not matter that PPO's own steps come
        before all of these rather than in between.

        Args:
            value_lr: Learning rate of the intrinsic critic: the policy's.
            max_grad_norm: Bound of the gradient of the bonus networks and of that of the critic,
                each by itself; None for none.

        Returns:
            Metrics, averaged over the minibatches.
        """
        assert self._targets is not None, "compute_advantage() comes before learn()"
        set_learning_rate(self._critic_optimizer, value_lr)
        sums: dict[str, Tensor] = {}
        n_minibatches = 0
        for index in self._minibatches():
            for key, term in self._learn_from(self._targets.pick(index), max_grad_norm).items():
                sums[key] = sums.get(key, torch.zeros_like(term)) + term
            n_minibatches += 1
        self._targets = None
        return {f"train/explore/{key}": float(x) / n_minibatches for key, x in sums.items()}

    def _minibatches(self) -> list[Tensor]:
        assert self._targets is not None
        n = len(self._targets.returns)
        passes = [
            torch.randperm(n, generator=self._generator) for _ in range(self.settings.n_epochs)
        ]
        return [
            index.to(self.device)
            for order in passes
            for index in order.split(self.settings.batch_size)
        ]

    def _learn_from(self, targets: _Targets, max_grad_norm: float | None) -> dict[str, Tensor]:
        terms = self.novelty.losses(targets.transition)
        is_learnt = self._choose(len(targets.returns))
        losses = {name: masked_mean(term, is_learnt) for name, term in terms.items()}
        self._novelty_optimizer.zero_grad()
        losses["novelty_loss"].backward()
        norms = clip_and_step(self._novelty_optimizer, self._learnt, max_grad_norm=max_grad_norm)
        value = self.critic(targets.seen)
        of_critic = value_loss(
            value=value, old_value=value, returns=targets.returns, clip_range_vf=None
        ).mean()
        self._critic_optimizer.zero_grad()
        of_critic.backward()
        clip_and_step(self._critic_optimizer, self._valued, max_grad_norm=max_grad_norm)
        losses |= {"value_loss": of_critic, "grad_norm": norms.norm()}
        return {name: loss.detach() for name, loss in losses.items()}

    def _choose(self, n: int) -> Tensor:
        """Choose the samples of a minibatch that the novelty learns from, (n,) of 0 and 1."""
        if self.settings.update_proportion == 1.0:
            return torch.ones(n, device=self.device)
        draws = torch.rand(n, generator=self._generator)
        return (draws < self.settings.update_proportion).float().to(self.device)

    # -- saved state ----------------------------------------------------------------------------

    def _parts(self) -> Mapping[str, Any]:
        return {
            "novelty": self.novelty,
            "critic": self.critic,
            "scale": self.scale,
            "novelty_optimizer": self._novelty_optimizer,
            "critic_optimizer": self._critic_optimizer,
        }

    def state_dict(self) -> dict[str, Any]:
        """Return networks, moments, optimisers and generator; a rollout is used up by then."""
        state = {name: part.state_dict() for name, part in self._parts().items()}
        return {**state, "generator": self._generator.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        for name, part in self._parts().items():
            part.load_state_dict(state[name])
        self._generator.set_state(state["generator"])


def masked_mean(term: Tensor, is_counted: Tensor) -> Tensor:
    """Average (B,) over the samples with weight 1; 0 where there is none."""
    return (term * is_counted).sum() / is_counted.sum().clamp_min(1.0)


def _slices(n: int) -> list[slice]:
    return [slice(start, start + _MOST_ROWS) for start in range(0, n, _MOST_ROWS)]


def _rollout_metrics(
    bonus: Tensor, reward: Tensor, advantage: Tensor, *, value: Tensor, returns: Tensor
) -> dict[str, float]:
    metrics = {
        "bonus_mean": bonus.mean(),
        "bonus_max": bonus.max(),
        "reward_mean": reward.mean(),
        "returns_mean": returns.mean(),
        "adv_std": advantage.std(correction=0),
        "explained_variance": explained_variance(value=value, returns=returns),
    }
    numbers = {f"train/explore/{name}": float(value) for name, value in metrics.items()}
    return {key: number for key, number in numbers.items() if number == number}  # undefined: NaN
