"""PPO on a torch environment as a handful of Triton kernels, one CUDA graph an iteration.

Per iteration: `rollout_kernel` (policy, sampling and environments for all steps; the state never
leaves the chip), `returns_kernel` (critic and GAE), `minibatch_moments_kernel` (mean and deviation
of each minibatch's advantages), then per minibatch `gradient_kernel` (gather, forward, loss and
backward; activations never leave the chip), `reduce_kernel` and `adam_kernel`, at last
`record_kernel` (metrics). Nothing is added atomically: a run repeats bit for bit.

One H100, CartPole, 32 steps, 4 passes of 4 minibatches, two 64-64 tanh networks, inside `run`: 340,
600 and 765 million environment steps a second at 4,096, 16,384 and 65,536 environments; at 16,384
also 630 with ReLU, 600 for Pendulum, 375 for Acrobot (whose physics takes long), 235 with 128-128.
Compiling takes 3 s (the kernels side by side), loading them from Triton's cache 0.5 s.

`layout` says what lies where, `iteration` holds memory and launches, `loop` is the `DeviceLoop`,
`availability.why_not` says for which policies, settings and environments all this is made. Only
`availability` and `layout` can be imported without Triton.
"""
