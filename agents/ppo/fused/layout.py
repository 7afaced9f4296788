"""Where everything is: the kernels' parameter vector, their gradient, and a sample's row.

Both nets (0 actor, 1 critic) have the same shape and lie one after another. A net is a flat float32
vector: first layer (n_inputs + 1, width 1), its last row the bias; second layer (width 1, width 2)
and its bias, where there is one; head (n_outputs, width), head bias (16), log_std (16). Hidden
widths are padded to 32, 64 or 128 units; padding is zero, and stays zero: a unit without weights
has no gradient. The critic uses one row of the head. The head begins at a multiple of 64, so that
every 64 numbers belong to one of the groups (trunk, head) whose gradient norms are reported.

A sample is one row of 4-byte numbers: observation, action (one number if discrete, else one for
each dimension), log-probability, advantage, return; padded to a power of two, at least 8, so that a
sample is whole 32-byte sectors of memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from torch import Tensor, nn

from utils.models import NormalHead
from utils.policy_factory import ActorCritic

BLOCK = 64
"""Numbers of the flat vector that one program of the reduction sums up."""
N_SUMS = 4
"""Sums over samples that a net reports beside its gradient."""
BINARY, CATEGORICAL, NORMAL = 0, 1, 2
MAX_INPUTS, MAX_CHOICES, MAX_ACTION_DIMS, MAX_WIDTH = 32, 16, 8, 128


def _round_up(n: int, multiple: int) -> int:
    return -(-n // multiple) * multiple


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Sizes and offsets of one network shape; equal layouts share compiled kernels."""

    n_inputs: int
    """1 to 32."""
    n_outputs: int
    """Choices (2 to 16) or dimensions of the action (1 to 8)."""
    is_normal: bool
    """Whether the action is a Box."""
    widths: tuple[int, ...]
    """Units of the one or two hidden layers as the policy has them."""
    is_relu: bool

    @property
    def kind(self) -> int:
        """BINARY (two choices: one logit says it all), CATEGORICAL or NORMAL."""
        if self.is_normal:
            return NORMAL
        return BINARY if self.n_outputs == 2 else CATEGORICAL

    @property
    def n_layers(self) -> int:
        """Hidden layers, 1 or 2."""
        return len(self.widths)

    @cached_property
    def padded(self) -> tuple[int, ...]:
        """Hidden widths in the kernels."""
        return tuple(max(32, _power_of_two(width)) for width in self.widths)

    @property
    def h1(self) -> int:
        """Width of the first hidden layer."""
        return self.padded[0]

    @property
    def h2(self) -> int:
        """Width of the last hidden layer."""
        return self.padded[-1]

    # -- the flat vector of one net --------------------------------------------------------------

    @property
    def w2(self) -> int:
        """Offset of the second layer's weights."""
        return (self.n_inputs + 1) * self.h1

    @property
    def b2(self) -> int:
        """Offset of the second layer's bias."""
        return self.w2 + (self.h1 * self.h2 if self.n_layers == 2 else 0)

    @property
    def w3(self) -> int:
        """Offset of the head's weights."""
        return _round_up(self.b2 + (self.h2 if self.n_layers == 2 else 0), BLOCK)

    @property
    def b3(self) -> int:
        """Offset of the head's bias."""
        return self.w3 + self.n_outputs * self.h2

    @property
    def log_std(self) -> int:
        """Offset of log_std; 16 numbers follow, used or not."""
        return self.b3 + 16

    @property
    def net_size(self) -> int:
        """Numbers of one net."""
        return _round_up(self.log_std + 16, BLOCK)

    @property
    def gradient_size(self) -> int:
        """Numbers of one net's gradient: a block of sums over samples (see `N_SUMS`) follows it."""
        return self.net_size + BLOCK

    # -- a sample's row --------------------------------------------------------------------------

    @property
    def n_action(self) -> int:
        """Numbers of one stored action."""
        return self.n_outputs if self.is_normal else 1

    @property
    def c_action(self) -> int:
        """Column of the action."""
        return self.n_inputs

    @property
    def c_logprob(self) -> int:
        """Column of the log-probability under the policy that acted."""
        return self.n_inputs + self.n_action

    @property
    def c_advantage(self) -> int:
        """Column of the advantage; the reward until returns are computed."""
        return self.c_logprob + 1

    @property
    def c_returns(self) -> int:
        """Column of the critic's target."""
        return self.c_logprob + 2

    @property
    def stride(self) -> int:
        """Numbers of one row."""
        return max(8, _power_of_two(self.c_returns + 1))

    @property
    def width(self) -> int:
        """Columns of a block of inputs in a matrix product, at least 16."""
        return max(16, self.stride)

    # -- the small gradients: all of them columns of one accumulator, where they fit -------------

    @property
    def n_head_rows(self) -> int:
        """Rows of the head in a matrix product; two choices need one, the difference."""
        return 1 if self.kind == BINARY else self.n_outputs

    @property
    def is_narrow(self) -> bool:
        """Whether one output is all that matters: two choices, or one number."""
        return self.n_head_rows == 1

    @property
    def is_shared(self) -> bool:
        """Whether first layer, head and second bias fit into one accumulator of 16 columns."""
        fits = self.width == 16 and self.n_inputs + 1 + self.n_head_rows + 1 <= 16
        return fits and self.h1 == self.h2

    @property
    def head_column(self) -> int:
        """First column (and row of the logits) of the head."""
        return self.n_inputs + 1 if self.is_shared else 0

    @property
    def bias_column(self) -> int:
        """Column of the second layer's bias."""
        return self.head_column + self.n_head_rows

    @property
    def head_width(self) -> int:
        """Columns of the head's accumulator."""
        return 16 if self.is_shared or self.n_head_rows < 16 else 32


def policy_layout(policy: ActorCritic) -> Layout:
    """Read the layout off a policy that `why_not` has nothing against."""
    weights = list(policy.trunk.weights)
    return Layout(
        n_inputs=weights[0].shape[1],
        n_outputs=_actor_linear(policy).weight.shape[0],
        is_normal=isinstance(policy.actor_head, NormalHead),
        widths=tuple(weight.shape[2] for weight in weights),
        is_relu=policy.trunk.activation_name == "relu",
    )


def _actor_linear(policy: ActorCritic) -> nn.Linear:
    head = policy.actor_head
    return head.mean if isinstance(head, NormalHead) else head


def parameter_views(layout: Layout, policy: ActorCritic, flat: Tensor) -> list[Tensor]:
    """View the flat vector of both nets as the policy's parameters.

    Args:
        layout: That of `policy`.
        policy: Its parameters give shapes and order.
        flat: (2 * net_size,) of parameters, gradients or moments.

    Returns:
        One view for each of ``policy.parameters()``, of its shape; together they cover all of
        `flat` but padding.
    """
    size, h1, h2 = layout.net_size, layout.h1, layout.h2
    actor, critic, trunk = _actor_linear(policy), policy.critic_head, policy.trunk
    assert isinstance(critic, nn.Linear), critic
    # Parameter -> strides and offset.
    places: dict[nn.Parameter, tuple[tuple[int, ...], int]] = {
        trunk.weights[0]: ((size, h1, 1), 0),
        trunk.biases[0]: ((size, h1, 1), layout.n_inputs * h1),
        actor.weight: ((h2, 1), layout.w3),
        actor.bias: ((1,), layout.b3),
        critic.weight: ((h2, 1), size + layout.w3),
        critic.bias: ((1,), size + layout.b3),
    }
    if layout.n_layers == 2:
        places[trunk.weights[1]] = ((size, h2, 1), layout.w2)
        places[trunk.biases[1]] = ((size, h2, 1), layout.b2)
    if isinstance(policy.actor_head, NormalHead):
        places[policy.actor_head.log_std] = ((1,), layout.log_std)
    parameters = list(policy.parameters())
    assert len(parameters) == len(places), [name for name, _ in policy.named_parameters()]
    return [flat.as_strided(parameter.shape, *places[parameter]) for parameter in parameters]
