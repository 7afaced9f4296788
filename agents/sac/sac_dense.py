"""SAC's updates with the gradients written out, for plain networks on the CPU.

`SACAgent.learn` is the reference: the same draws, the same formulas, the same optimisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from agents.sac.sac_losses import q_target, soft_value
from utils.distributions.squashed_normal import squash
from utils.models.dense_passes import DensePasses, linear_layers
from utils.optimization import clip_and_step
from utils.optimization.averaging import move_towards_
from utils.policies.continuous_actor import LOG_STD_RANGE, SquashedNormalActor

if TYPE_CHECKING:
    from agents.replay_agent import ReplayBatch
    from agents.sac.sac_agent import SACAgent


def why_not_dense(agent: SACAgent) -> str | None:
    """Say in a few words what the written-out passes do not know of; None if nothing."""
    kwargs, policy = agent.config.policy_kwargs, agent.policy
    reasons = {
        f"device is {agent.config.device}": agent.compute_device.type != "cpu",
        "actions are choices": not isinstance(policy, SquashedNormalActor),
        "observations are not one vector": bool(linear_layers(policy.encoder))
        or policy.encoder.parts is not None
        or policy.encoder.cnn is not None,
        f"the activation is {kwargs.activation}": kwargs.activation not in ("relu", "tanh"),
        "critic_layer_norm is set": kwargs.critic_layer_norm,
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


class DenseSAC:
    """Actor, critics and their targets as passes over memory of their own."""

    def __init__(self, agent: SACAgent) -> None:
        """Bind the networks of an agent for which `why_not_dense` has nothing to say."""
        assert why_not_dense(agent) is None, why_not_dense(agent)
        self._agent = agent
        config, policy = agent.config, agent.policy
        shape = {"activation": config.policy_kwargs.activation, "n_rows": config.batch_size}
        layers = linear_layers(policy.trunk, policy.head)
        weights = [layer.weight.detach().T for layer in layers]
        biases = [layer.bias.detach() for layer in layers]
        self._next_actor = DensePasses(weights, biases, **shape)
        self._actor = DensePasses(weights, biases, **shape)
        self._critic, self._target = (
            DensePasses(
                [w.detach() for w in net.weights], [b.detach() for b in net.biases], **shape
            )
            for net in (agent.critic, agent.target)
        )
        self._actor_parameters = _with_gradients(
            [(layer.weight, layer.bias) for layer in layers], are_transposed=True
        )
        self._critic_parameters = _with_gradients(
            list(zip(agent.critic.weights, agent.critic.biases, strict=True)), are_transposed=False
        )
        self._n_features = policy.encoder.output_dim

    @torch.no_grad()
    def learn(self, batch: ReplayBatch) -> tuple[dict[str, Tensor], Tensor]:
        """Take the optimiser steps of one update; returns metrics and errors as `Learned` has."""
        agent, n = self._agent, len(batch.reward)
        encoder = agent.policy.encoder
        observation = encoder(batch.observation)
        alpha = agent.temperature()
        target = self._target_values(encoder(batch.next_observation), batch, alpha)
        q = self._critic.forward(torch.cat([observation, batch.action.flatten(1)], dim=1))
        difference = q.squeeze(2) - target
        weighted = difference if batch.weight is None else difference * batch.weight
        critic_loss = 0.5 * (weighted * difference).sum() / n
        q_mean = q.mean()  # the memory of q is used again below
        self._critic.backward((weighted / n).unsqueeze(2), self._critic_parameters.gradients)
        critic_norm = self._step("critic", self._critic_parameters)
        actor_loss, logprob = self._improve_actor(observation, alpha)
        actor_norm = self._step("policy", self._actor_parameters)
        if "temperature" in agent.optimizers:
            log_alpha = agent.temperature.log_alpha
            log_alpha.grad = (-logprob).mean() - agent.target_entropy
            limit = agent.hyperparameters.get("max_grad_norm")
            clip_and_step(agent.optimizers["temperature"], [log_alpha], max_grad_norm=limit)
        move_towards_(agent.target, agent.critic, tau=agent.config.target_tau)
        metrics = {
            "train/loss/critic": critic_loss,
            "train/loss/actor": actor_loss,
            "train/sac/q_mean": q_mean,
            "train/sac/entropy": -logprob.mean(),
            "train/sac/alpha": alpha,
            "train/grad/critic": critic_norm,
            "train/grad/actor": actor_norm,
        }
        return metrics, difference.abs().mean(dim=0)

    def _target_values(self, seen: Tensor, batch: ReplayBatch, alpha: Tensor) -> Tensor:
        mean, log_std = self._next_actor.forward(seen).chunk(2, dim=1)
        noise = self._agent.draw_noise(len(seen))
        action, logprob = squash(mean, log_std.clamp(*LOG_STD_RANGE), noise)
        q = self._target.forward(torch.cat([seen, action], dim=1)).squeeze(2)
        value = soft_value(q=q, logprob=logprob, alpha=alpha)
        return q_target(reward=batch.reward, discount=batch.discount, next_value=value)

    def _improve_actor(self, seen: Tensor, alpha: Tensor) -> tuple[Tensor, Tensor]:
        """Write the gradients of the actor; returns its loss () and the log-densities (B,).

        With ``a = tanh(u)``, ``u = mean + std noise`` and ``L = alpha log p(a) - min_e q_e(a)``:
        ``dL/du = 2 alpha a - (1 - a^2) dq/da``, ``dL/dmean = dL/du`` and
        ``dL/dlog_std = std noise dL/du - alpha``.
        """
        n = len(seen)
        mean, raw = self._actor.forward(seen).chunk(2, dim=1)
        log_std = raw.clamp(*LOG_STD_RANGE)
        noise = self._agent.draw_noise(n)
        action, logprob = squash(mean, log_std, noise)
        q = self._critic.forward(torch.cat([seen, action], dim=1)).squeeze(2)
        lowest, critic = q.min(dim=0)
        is_lowest = torch.zeros_like(q).scatter_(0, critic.unsqueeze(0), 1.0)
        columns = slice(self._n_features, None)
        of_action = self._critic.input_gradient(is_lowest.unsqueeze(2), columns=columns)
        of_u = 2.0 * alpha * action - (1.0 - action.square()) * of_action
        of_log_std = log_std.exp() * noise * of_u - alpha
        is_inside = (raw >= LOG_STD_RANGE[0]) & (raw <= LOG_STD_RANGE[1])
        delta = torch.cat([of_u, of_log_std * is_inside], dim=1) / n
        self._actor.backward(delta, self._actor_parameters.gradients)
        return (alpha * logprob - lowest).mean(), logprob

    def _step(self, name: str, parameters: _Parameters) -> Tensor:
        limit = self._agent.hyperparameters.get("max_grad_norm")
        optimizer = self._agent.optimizers[name]
        for tensor, gradient in zip(parameters.tensors, parameters.of_tensors, strict=True):
            tensor.grad = gradient  # Lightning, and updates by the graph, take them away
        return clip_and_step(optimizer, parameters.tensors, max_grad_norm=limit).norm()


class _Parameters(NamedTuple):
    tensors: list[nn.Parameter]
    of_tensors: list[Tensor]
    """Their gradients, in the same order and shapes."""
    gradients: list[tuple[Tensor, Tensor]]
    """The same memory, of weight and bias of each layer, as the passes write it."""


def _with_gradients(
    layers: Sequence[tuple[nn.Parameter, nn.Parameter]], *, are_transposed: bool
) -> _Parameters:
    """Allocate a gradient for every parameter."""
    parameters = [p for pair in layers for p in pair]
    own = [torch.zeros_like(p) for p in parameters]
    gradients = [
        (of_weight.T if are_transposed else of_weight, of_bias)
        for of_weight, of_bias in zip(own[::2], own[1::2], strict=True)
    ]
    return _Parameters(parameters, own, gradients)
