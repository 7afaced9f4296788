"""Two trunks and their heads as one node of the graph, with the backward pass written out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from utils.models.mlp import TwinTrunks

_FEWEST_ROWS_OF_A_PART = 512


def has_analytic_backward(trunk: nn.Module) -> bool:
    """Say whether `twin_network` knows the derivative of the trunk's activation."""
    return isinstance(trunk, TwinTrunks) and trunk.activation_name in ("tanh", "relu")


def twin_network(
    features: Tensor, trunk: TwinTrunks, actor_head: nn.Linear, critic_head: nn.Linear
) -> tuple[Tensor, Tensor]:
    """Evaluate both trunks and both heads.

    The same numbers as trunk and heads one after another. A small network's time goes into the
    bookkeeping of many small operations; here the graph has one node instead of a dozen, and its
    backward pass is the textbook's, layer by layer. Differentiable once.

    Args:
        features: (B, in) float.
        trunk: Its activation is tanh or ReLU.
        actor_head: (H -> n).
        critic_head: (H -> 1).

    Returns:
        The actor head's output (B, n) and the critic head's (B, 1).
    """
    return _TwinNetwork.apply(
        features,
        trunk.activation_name,
        len(trunk.weights),
        actor_head.weight,
        actor_head.bias,
        critic_head.weight,
        critic_head.bias,
        *trunk.weights,
        *trunk.biases,
    )


def twin_forward(
    features: Tensor, trunk: TwinTrunks, actor_head: nn.Linear, critic_head: nn.Linear
) -> tuple[Tensor, Tensor, list[Tensor]]:
    """Evaluate as `twin_network`, outside the graph, and keep what `twin_backward` needs.

    Returns:
        Actor output (B, n), critic output (B, 1), and the outputs of all layers, each
        (2, B, width), the features first.
    """
    return _forward(
        features,
        trunk.activation_name,
        tuple(trunk.weights),
        tuple(trunk.biases),
        (actor_head.weight, actor_head.bias, critic_head.weight, critic_head.bias),
    )


def twin_backward(
    actor_gradient: Tensor,
    critic_gradient: Tensor,
    layer_outputs: Sequence[Tensor],
    trunk: TwinTrunks,
    actor_head: nn.Linear,
    critic_head: nn.Linear,
) -> None:
    """Write the gradient of every parameter, given those of the outputs; replaces what was there.

    Args:
        actor_gradient: (B, n), of a loss with respect to the actor's output.
        critic_gradient: (B, 1), with respect to the critic's.
        layer_outputs: From `twin_forward`.
        trunk: As in `twin_forward`.
        actor_head: As in `twin_forward`.
        critic_head: As in `twin_forward`.
    """
    _, heads, weights, biases = _backward(
        (actor_gradient, critic_gradient),
        trunk.activation_name,
        layer_outputs,
        tuple(trunk.weights),
        (actor_head.weight, critic_head.weight),
        needs_features=False,
    )
    owners = (actor_head.weight, actor_head.bias, critic_head.weight, critic_head.bias)
    for parameter, gradient in zip(
        (*owners, *trunk.weights, *trunk.biases), (*heads, *weights, *biases), strict=True
    ):
        parameter.grad = gradient


class _TwinNetwork(torch.autograd.Function):
    """See `twin_network`."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, activation: str, n_layers: int, *parameters: Tensor
    ) -> tuple[Tensor, Tensor]:
        heads, layers = parameters[:4], parameters[4:]
        weights, biases = layers[:n_layers], layers[n_layers:]
        actor, critic, outputs = _forward(features, activation, weights, biases, heads)
        ctx.activation, ctx.n_layers = activation, n_layers
        ctx.save_for_backward(*outputs, *weights, heads[0], heads[2])
        return actor, critic

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, actor_gradient: Tensor, critic_gradient: Tensor) -> Any:
        n = ctx.n_layers
        saved = ctx.saved_tensors
        features, heads, weights, biases = _backward(
            (actor_gradient, critic_gradient),
            ctx.activation,
            saved[: n + 1],
            saved[n + 1 : -2],
            saved[-2:],
            needs_features=ctx.needs_input_grad[0],
        )
        return (features, None, None, *heads, *weights, *biases)


def _forward(
    features: Tensor,
    activation: str,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor],
    heads: Sequence[Tensor],
) -> tuple[Tensor, Tensor, list[Tensor]]:
    hidden = features.expand(2, *features.shape)
    outputs = [hidden]
    for weight, bias in zip(weights, biases, strict=True):
        hidden = _activate_(torch.baddbmm(bias, hidden, weight), activation)
        outputs.append(hidden)
    actor_weight, actor_bias, critic_weight, critic_bias = heads
    return (
        torch.addmm(actor_bias, hidden[0], actor_weight.t()),
        torch.addmm(critic_bias, hidden[1], critic_weight.t()),
        outputs,
    )


def _backward(
    gradients: tuple[Tensor, Tensor],
    activation: str,
    outputs: Sequence[Tensor],
    weights: Sequence[Tensor],
    head_weights: Sequence[Tensor],
    *,
    needs_features: bool,
) -> tuple[Tensor | None, list[Tensor], list[Tensor], list[Tensor]]:
    """Return the gradients of features, heads (weight and bias of each), weights and biases."""
    hidden = outputs[-1]
    heads: list[Tensor] = []
    gradient = hidden.new_empty(hidden.shape)
    for twin, (incoming, head_weight) in enumerate(zip(gradients, head_weights, strict=True)):
        heads += [torch.mm(incoming.t(), hidden[twin]), incoming.sum(0)]
        torch.mm(incoming, head_weight, out=gradient[twin])
    weight_gradients: list[Tensor] = []
    bias_gradients: list[Tensor] = []
    for k in range(len(weights) - 1, -1, -1):
        gradient = _derivative(gradient, outputs[k + 1], activation)
        weight_gradients.append(_weight_gradient(outputs[k], gradient))
        bias_gradients.append(gradient.sum(1, keepdim=True))
        if k > 0 or needs_features:
            gradient = torch.bmm(gradient, weights[k].transpose(1, 2))
    features = gradient.sum(0) if needs_features else None
    return features, heads, weight_gradients[::-1], bias_gradients[::-1]


def _weight_gradient(inputs: Tensor, gradient: Tensor) -> Tensor:
    """Return the gradient of the weights of a layer of both trunks.

    Args:
        inputs: (2, B, in) what the layer read.
        gradient: (2, B, out) of a loss with respect to its output.

    Returns:
        (2, in, out), the sum over all rows.
    """
    if inputs.device.type == "cpu":
        return torch.bmm(inputs.transpose(1, 2), gradient)
    return _sum_in_parts(inputs, gradient)


def _sum_in_parts(inputs: Tensor, gradient: Tensor) -> Tensor:
    """Do the same in parts side by side.

    The result is small and the sum long: a GPU's product of two such matrices leaves most of it
    idle, and took nine tenths of an update.
    """
    n_rows, n_parts = inputs.shape[1], 1
    while n_rows % (2 * n_parts) == 0 and n_rows // (2 * n_parts) >= _FEWEST_ROWS_OF_A_PART:
        n_parts *= 2
    size = n_rows // n_parts
    left = inputs.reshape(2 * n_parts, size, inputs.shape[2])
    right = gradient.reshape(2 * n_parts, size, gradient.shape[2])
    products = torch.bmm(left.transpose(1, 2), right)
    return products.view(2, n_parts, *products.shape[1:]).sum(dim=1)


def _activate_(x: Tensor, activation: str) -> Tensor:
    """Apply the activation in place."""
    if activation == "relu":
        return x.relu_()
    if x.device.type != "cpu":
        return x.tanh_()
    # tanh(x) = 2 sigmoid(2 x) - 1: torch's tanh costs several times its sigmoid on a CPU, and more
    # than the matrix product before it. The two differ by at most 2e-7.
    return x.add_(x).sigmoid_().mul_(2.0).sub_(1.0)


def _derivative(gradient: Tensor, output: Tensor, activation: str) -> Tensor:
    """Carry a gradient back through the activation, given what it had put out."""
    if activation == "relu":
        return torch.ops.aten.threshold_backward(gradient, output, 0)
    return torch.ops.aten.tanh_backward(gradient, output)
