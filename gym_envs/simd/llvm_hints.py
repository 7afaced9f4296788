"""What LLVM cannot know by itself: arrays that do not overlap, and arrays behind addresses."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils

from gym_envs.numba_settings import intrinsic

_DATA_POINTER = ".4"  # how numba names the pointer to the numbers of an array argument


@intrinsic
def arrays_are_distinct(typing_context):  # noqa: ARG001 - numba's signature
    """Promise that no two array arguments of the calling function overlap.

    Without the promise LLVM compares all pairs of arrays before the loop, and gives up on vector
    code when there are many. The function is kept out of its callers, where the promise is void.
    """

    def generate(context, builder, _signature, _arguments):
        function = builder.function
        function.attributes.add("noinline")
        for argument in function.args:
            is_data = argument.name.startswith("arg.") and argument.name.endswith(_DATA_POINTER)
            if is_data and isinstance(argument.type, ir.PointerType):
                argument.add_attribute("noalias")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def pointer_to(typing_context, address):  # noqa: ARG001 - numba's signature
    """Return an address (int64) as a pointer for `numba.carray`."""

    def generate(_context, builder, _signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), generate
