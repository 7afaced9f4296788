"""PPO on a torch environment as a handful of Triton kernels, one CUDA graph an iteration.

Per iteration: `rollout_kernel` (policy, sampling and environments for all steps; the state never
leaves the chip), `returns_kernel` (critic and GAE), `minibatch_moments_kernel` (mean and deviation
of each minibatch's advantages), then per minibatch `gradient_kernel` (gather, forward, loss and
backward; activations never leave the chip), `reduce_kernel` and `adam_kernel`, at last
`record_kernel` (metrics). Nothing is added atomically: a run repeats bit for bit.

`layout` says what lies where, `iteration` holds memory and launches, `loop` is the `DeviceLoop`,
`availability.why_not` says for which policies, settings and environments all this is made. Only
`availability` and `layout` can be imported without Triton.
"""
