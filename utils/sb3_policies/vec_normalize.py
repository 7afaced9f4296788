"""The statistics of a `VecNormalize`, out of its pickle, without running what the pickle names.

Only NumPy's arrays are built; every class of Stable-Baselines3 and Gymnasium that such a file holds
becomes a plain holder of its attributes, and a file that names anything else is refused.
"""

from __future__ import annotations

import collections
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from utils.errors import UserError
from utils.sb3_policies.archive import UnreadableModelError


class _Holder:
    """Stands where a pickle wants an object of a class: keeps attributes, does nothing."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        parts = state if isinstance(state, tuple) else (state,)
        for part in parts:
            if isinstance(part, dict):
                self.__dict__.update(part)

    def __setitem__(self, key: Any, value: Any) -> None:
        pass


class _VecNormalize(_Holder):
    pass


class _RunningMeanStd(_Holder):
    pass


_HOLDERS = {
    ("stable_baselines3.common.vec_env.vec_normalize", "VecNormalize"): _VecNormalize,
    ("stable_baselines3.common.running_mean_std", "RunningMeanStd"): _RunningMeanStd,
}
_OF_NUMPY = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("collections", "OrderedDict"): collections.OrderedDict,
}
_NUMPY_FUNCTIONS = ("_reconstruct", "scalar", "_frombuffer")
_HELD_MODULES = ("gymnasium.spaces.", "gym.spaces.", "numpy.random.")


class _CarefulUnpickler(pickle.Unpickler):
    """Knows a few names, and refuses all others before anything of them is run."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _HOLDERS:
            return _HOLDERS[module, name]
        if (module, name) in _OF_NUMPY:
            return _OF_NUMPY[module, name]
        package = module.replace("numpy.core.", "numpy._core.")
        if package in ("numpy._core.multiarray", "numpy._core.numeric"):
            if name in _NUMPY_FUNCTIONS:
                return getattr(__import__(package, fromlist=[name]), name)
        elif module.startswith(_HELD_MODULES):
            return _Holder
        raise pickle.UnpicklingError(f"{module}.{name}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Moments:
    """Of one observation, or of one part of a dictionary."""

    mean: np.ndarray
    """float64"""
    var: np.ndarray
    """float64, of the same shape."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VecStatistics:
    """How a `VecNormalize` treats observations: ``clip((x - mean) / sqrt(var + epsilon))``."""

    moments: Mapping[str, Moments]
    """By key of a dictionary; under "" for anything else. Empty where observations are raw."""
    epsilon: float
    clip: float
    reward_factor: float
    """What rewards were multiplied by when it was saved, ``1 / sqrt(var + epsilon)`` of the
    discounted returns; 1 where they are raw."""


def read_vec_normalize(path: Path) -> VecStatistics:
    """Read the statistics.

    Raises:
        UserError: There is no such file, or it is none of a `VecNormalize`, or one that would have
            to run other code.
    """
    try:
        with path.open("rb") as file:
            held = _CarefulUnpickler(file).load()
    except FileNotFoundError as error:
        raise UserError(f"there is no file '{path}'") from error
    except pickle.UnpicklingError as error:
        raise UnreadableModelError(
            f"'{path}' holds more than the statistics of a VecNormalize ({error}): refused, for a "
            "pickle runs whatever its author wrote"
        ) from error
    except (EOFError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnreadableModelError(f"'{path}' is no pickle of a VecNormalize: {error}") from error
    if not isinstance(held, _VecNormalize):
        raise UnreadableModelError(f"'{path}' is no pickle of a VecNormalize")
    try:
        return _statistics(vars(held))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableModelError(f"'{path}' holds no statistics: {error!r}") from error


def _statistics(state: Mapping[str, Any]) -> VecStatistics:
    epsilon = float(state["epsilon"])
    found = state["obs_rms"] if state["norm_obs"] else {}
    parts = found if isinstance(found, dict) else {"": found}
    is_scaled = state.get("norm_reward", False)
    return VecStatistics(
        moments={
            key: Moments(
                mean=np.asarray(part.mean, np.float64), var=np.asarray(part.var, np.float64)
            )
            for key, part in parts.items()
        },
        epsilon=epsilon,
        clip=float(state["clip_obs"]),
        reward_factor=(float(state["ret_rms"].var) + epsilon) ** -0.5 if is_scaled else 1.0,
    )
