"""Fused loops and what torch says that they should compute."""

from __future__ import annotations

import copy

from tests.helpers.triton_device import DEVICE  # before Triton

# isort: split
import gymnasium as gym
import numpy as np
import torch
import triton
import triton.language as tl

from agents.ppo.fused.iteration import HYPERPARAMETERS as NAMES
from agents.ppo.fused.iteration import FusedIteration, IterationSettings
from agents.ppo.fused.kernels.arithmetic import shuffle
from agents.ppo.fused.kernels.returns import shuffle_key
from agents.ppo.fused.layout import parameter_views, policy_layout
from agents.ppo.fused.loop import FusedLoop
from agents.ppo.ppo_losses import (
    approximate_kl,
    clipped_fraction,
    clipped_policy_loss,
    value_loss,
)
from gym_envs.torch_envs import TorchVectorEnv
from utils.config import PPOConfig
from utils.distributed.team import Team
from utils.optimization import build_optimizer
from utils.policy_factory import ActorCritic, PolicySettings, build_policy
from utils.returns import standardize

HYPERPARAMETERS = {
    "policy_lr": 1e-3,
    "gamma": 0.98,
    "gae_lambda": 0.9,
    "clip_range": 0.2,
    "ent_coef": 0.01,
    "vf_coef": 0.5,
    "max_grad_norm": 0.5,
}


def make_loop(
    env_id: str = "CartPole-v1",
    *,
    n_envs: int = 16,
    n_steps: int = 4,
    n_minibatches: int = 2,
    n_epochs: int = 2,
    hidden_dims: tuple[int, ...] = (64, 64),
    activation: str = "tanh",
    normalize_advantages: str = "batch",
    optimizer: str = "AdamW",
    optimizer_kwargs: dict | None = None,
    half: bool | None = None,
    reward_scale: float = 1.0,
    normalize_obs: str = "none",
    seed: int = 0,
    team: Team | None = None,
    seed_index: int = 0,
) -> FusedLoop:
    """Build a loop over a fresh environment; `half` precision is the rule on a GPU only."""
    torch.manual_seed(seed)
    env = TorchVectorEnv(env_id, n_envs, device=DEVICE)
    env.reset_tensors(seed=3 + seed + 100 * seed_index)
    settings = PolicySettings(
        hidden_dims=hidden_dims,
        activation=activation,
        orthogonal_init=True,
        share_trunk=False,
        log_std_init=-0.3,
        feature_dim=64,
        normalize_obs=normalize_obs,
        clip_obs=10.0,
        has_critic=True,
    )
    policy = build_policy(env.single_observation_space, env.single_action_space, settings)
    policy = policy.to(DEVICE)
    config = PPOConfig(
        config_id="test",
        algo_id="ppo",
        env_id=env_id,
        n_envs=n_envs,
        n_steps=n_steps,
        batch_size=n_envs * n_steps // n_minibatches,
        n_epochs=n_epochs,
        max_timesteps=10**9,
        policy_lr=1e-3,
        normalize_advantages=normalize_advantages,
        optimizer=optimizer,
        optimizer_kwargs=optimizer_kwargs or {},
        reward_scale=reward_scale,
        seed=seed,
    )
    torch_optimizer = build_optimizer(
        optimizer, policy.parameters(), lr=1e-3, kwargs=optimizer_kwargs or {}
    )
    half = DEVICE == "cuda" if half is None else half
    return FusedLoop(
        policy,
        config,
        env,
        torch_optimizer,
        dtype=tl.float16 if half else tl.float32,
        team=team,
        seed_index=seed_index,
    )


def make_iteration_of_any_shape(
    n_inputs: int, action_space: gym.Space, *, hidden_dims: tuple[int, ...], activation: str
) -> tuple[ActorCritic, FusedIteration]:
    """Build a policy that no environment here needs, and the kernels of its update.

    The samples are random numbers; some of their actions have become much more or less likely.
    """
    torch.manual_seed(0)
    space = gym.spaces.Box(-np.inf, np.inf, (n_inputs,), np.float32)
    settings = PolicySettings(
        hidden_dims=hidden_dims,
        activation=activation,
        orthogonal_init=True,
        share_trunk=False,
        log_std_init=-0.3,
        feature_dim=64,
        normalize_obs="none",
        clip_obs=10.0,
        has_critic=True,
    )
    policy = build_policy(space, action_space, settings).to(DEVICE)
    n_envs, half = (4100, tl.float16) if DEVICE == "cuda" else (25, tl.float32)
    iteration = FusedIteration(
        policy_layout(policy),
        TorchVectorEnv("CartPole-v1", n_envs, device=DEVICE),
        IterationSettings(
            n_steps=6,
            n_epochs=1,
            n_minibatches=2,
            normalize_advantages="none",
            betas=(0.9, 0.999),
            eps=1e-8,
            weight_decay=0.0,
            is_decoupled=True,
            seed=5,
        ),
        dtype=half,
    )
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.5 * torch.randn_like(parameter) / max(parameter.shape[-2:]) ** 0.5
        views = parameter_views(iteration.layout, policy, iteration.parameters)
        for view, parameter in zip(views, policy.parameters(), strict=True):
            view.copy_(parameter)
        values = [HYPERPARAMETERS[name] for name in NAMES]
        iteration.hyper[: len(values)] = torch.tensor(values, device=DEVICE)
        iteration.samples.normal_()
        parts = columns(iteration)
        step = policy.act(parts["observation"])
        n = iteration.n_samples
        layout, samples = iteration.layout, iteration.samples
        samples[:, layout.c_action : layout.c_logprob] = step.action.reshape(n, -1).float()
        samples[:, layout.c_logprob] = step.logprob + 0.2 * torch.randn_like(step.logprob)
    return policy, iteration


def prepare(loop: FusedLoop, *, scale: float = 1.0) -> None:
    """Move policy and episodes away from where they begin, and hand over what `run` would.

    Actions get unequal probabilities; some episodes are about to be truncated.
    """
    env = loop.iteration.env
    generator = torch.Generator().manual_seed(7)
    perturb(loop, scale=scale)
    elapsed = torch.randint(
        env.max_episode_steps - 6, env.max_episode_steps, (env.num_envs,), generator=generator
    )
    env.elapsed.copy_(torch.where(torch.arange(env.num_envs) % 3 == 0, elapsed, 5))
    loop._write_hyperparameters(HYPERPARAMETERS)
    loop._import()
    loop.iteration.begin()


@torch.no_grad()
def perturb(loop: FusedLoop, *, scale: float) -> None:
    """Add noise to all weights of the policy."""
    generator = torch.Generator().manual_seed(11)
    for parameter in loop.policy.parameters():
        noise = torch.randn(parameter.shape, generator=generator).to(DEVICE)
        parameter += scale * noise / max(parameter.shape[-2:]) ** 0.5


def double_policy(policy: ActorCritic) -> ActorCritic:
    """Copy a policy in double precision, without the encoder, which would cast to float32."""
    policy = copy.deepcopy(policy).double()
    policy.encoder = torch.nn.Identity()
    return policy


@triton.jit
def _order_kernel(
    out,
    counters,
    seed,
    m,
    n,
    low_bits,
    high,
    n_mb,
    n_epochs,
    size,
    walk: tl.constexpr,
    block: tl.constexpr,
):
    at = tl.program_id(0) * block + tl.arange(0, block)
    key = shuffle_key(counters, seed, m, n_mb, n_epochs)
    row = shuffle(tl.minimum(at, n - 1), key, n, low_bits, high, walk)
    tl.store(out + at, row, mask=at < n)


def epoch_order(iteration: FusedIteration, m: int) -> torch.Tensor:
    """Return the order of all samples in the epoch of minibatch m, (samples,) int64."""
    n = iteration.n_samples
    out = torch.full((n,), -1, dtype=torch.int32, device=DEVICE)
    _order_kernel[(triton.cdiv(n, 64),)](
        out,
        iteration.counters,
        iteration.settings.seed,
        m,
        n,
        iteration.low_bits,
        iteration.high,
        iteration.settings.n_minibatches,
        iteration.settings.n_epochs,
        iteration.minibatch_size,
        iteration.walks,
        64,
    )
    return out.long()


def minibatch_rows(iteration: FusedIteration, m: int) -> torch.Tensor:
    """Return which samples minibatch m consists of."""
    size, k = iteration.minibatch_size, m % iteration.settings.n_minibatches
    return epoch_order(iteration, m)[k * size : (k + 1) * size]


def columns(iteration: FusedIteration) -> dict[str, torch.Tensor]:
    """Return the samples' parts, (samples, ...) each."""
    layout, samples = iteration.layout, iteration.samples
    action = samples[:, layout.c_action : layout.c_logprob]
    return {
        "observation": samples[:, : layout.n_inputs],
        "action": action if layout.is_normal else action[:, 0].long(),
        "logprob": samples[:, layout.c_logprob],
        "advantage": samples[:, layout.c_advantage],
        "returns": samples[:, layout.c_returns],
    }


def reference_loss(
    policy: ActorCritic, iteration: FusedIteration, m: int
) -> tuple[torch.Tensor, dict[str, float]]:
    """Compute the loss of minibatch m as the losses' definitions say, in the policy's precision."""
    dtype = next(policy.parameters()).dtype
    rows = minibatch_rows(iteration, m)
    parts = {
        name: (part[rows].to(dtype) if part.is_floating_point() else part[rows])
        for name, part in columns(iteration).items()
    }
    mode, advantage = iteration.settings.normalize_advantages, parts["advantage"]
    if mode == "batch":
        advantage = standardize(advantage)
    elif mode == "rollout":
        advantage = standardize(columns(iteration)["advantage"].to(dtype))[rows]
    new = policy.evaluate_actions(parts["observation"], parts["action"])
    hp = HYPERPARAMETERS
    logprobs = {"logprob": new.logprob, "old_logprob": parts["logprob"]}
    terms = {
        "policy": clipped_policy_loss(
            **logprobs, advantage=advantage, clip_range=hp["clip_range"]
        ).mean(),
        "value": value_loss(
            value=new.value, old_value=new.value, returns=parts["returns"], clip_range_vf=None
        ).mean(),
        "entropy": new.entropy.mean(),
        "kl": approximate_kl(**logprobs).mean(),
        "clipped": clipped_fraction(**logprobs, clip_range=hp["clip_range"]).mean(),
    }
    loss = terms["policy"] + hp["vf_coef"] * terms["value"] - hp["ent_coef"] * terms["entropy"]
    return loss, {name: float(term.detach()) for name, term in terms.items()}


def kernel_gradient(policy: ActorCritic, iteration: FusedIteration) -> list[torch.Tensor]:
    """Return the gradient that the kernels have computed, one tensor a parameter."""
    layout, flat = iteration.layout, iteration.gradient
    nets = flat.view(2, layout.gradient_size)[:, : layout.net_size]
    return parameter_views(layout, policy, nets.reshape(-1))


def flatten(tensors: list[torch.Tensor]) -> torch.Tensor:
    """Join tensors as one float64 vector."""
    return torch.cat([tensor.detach().reshape(-1).double() for tensor in tensors])


def relative_error(value: torch.Tensor, reference: torch.Tensor) -> float:
    """Return the norm of the difference over the norm of the reference."""
    return float((value - reference).norm() / reference.norm())
