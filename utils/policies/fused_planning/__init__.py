"""Planning in a latent space as a few Triton kernels between matrix products.

What `LatentPlanningPolicy.plan_with` does operation by operation, for the networks of TD-MPC2: on a
GPU small operations take as long as their start, and this has less than half of them. Matrix
products stay those of torch. `availability.why_not` says for which policies it is made and can be
imported without Triton; `kernels` are the operations, `networks` the layers made of them and
`planner` is the whole.
"""
