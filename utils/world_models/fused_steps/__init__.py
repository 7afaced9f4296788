"""Steps of a world model as a few Triton kernels between matrix products.

What dense layers, `RSSM.observe` and `RSSM.imagine` of the published shape do operation by
operation: on a GPU small operations take as long as their start, and this has less than half of
them. Matrix products stay those of torch. `availability.runs_fused` says where it is used and can
be imported without Triton. `arithmetic`, `dense_kernels`, `forward_kernels` and `backward_kernels`
are the operations; `dense`, `observe` and `imagine` are what is made of them.
"""
