"""What an update of a world model does between matrix products, as a few Triton kernels.

Dense layers, `RSSM.observe` and `RSSM.imagine` of the published shape, and what losses reckon row
by row: on a GPU small operations take as long as their start, and of these there are less than
half as many. Matrix products stay those of torch. `availability.runs_fused` says where it is used
and can be imported without Triton. Modules that end with `kernels` are the operations, with
`arithmetic` for all of them; the others are what is made of them.
"""
