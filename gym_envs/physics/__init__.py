"""The physics of the classic environments, once: readable Python that numba, torch and Triton use.

Every module defines `transition` and `observe` for one environment of Gymnasium. They take and
return plain numbers; all constants are names of the module, so that `rebind` can give a function
other constants and other mathematics (float32 for numba, tensors for torch, blocks for Triton).
"""

from gym_envs.physics.rebind import rebind
from gym_envs.physics.spec import ClassicSpec, classic_spec, has_classic_spec, list_classic_specs

__all__ = ["ClassicSpec", "classic_spec", "has_classic_spec", "list_classic_specs", "rebind"]
