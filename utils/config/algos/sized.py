"""The shape of models whose widths have names together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self, TypeVar

from pydantic import BaseModel, ModelWrapValidatorHandler, model_validator

from utils.config.schema import Config
from utils.config.spec import STRICT_MODEL

_Config = TypeVar("_Config", bound=Config)


class SizedKwargs(BaseModel):
    """A shape whose `size` sets some widths, where they are not set.

    `model_fields_set` holds what somebody wrote, without what the size adds.
    """

    model_config = STRICT_MODEL

    SIZES: ClassVar[Mapping[str, Mapping[str, int]]]
    """Name of a size -> the widths that it sets."""
    OF_PICTURES: ClassVar[tuple[str, ...]]
    """What is read only where observations hold a picture."""
    OF_NUMBERS: ClassVar[tuple[str, ...]]
    """What is read only where observations hold something else."""

    size: str

    @model_validator(mode="wrap")
    @classmethod
    def _spell_out_size(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(data, Mapping):
            return handler(data)
        size = str(data.get("size", cls.model_fields["size"].default))
        shape = handler({**cls.SIZES.get(size, {}), **data})
        shape.model_fields_set.intersection_update(data)
        return shape

    @property
    def named_size(self) -> str | None:
        """The name of the size; None where the numbers are others."""
        numbers = self.SIZES[self.size].items()
        return self.size if all(getattr(self, k) == n for k, n in numbers) else None

    @classmethod
    def widths(cls) -> tuple[str, ...]:
        """Return what a size sets."""
        return tuple(next(iter(cls.SIZES.values())))


def of_version(versions: Mapping[int, Mapping[str, Any]], version: Any) -> dict[str, Any]:
    """Return what a version sets; nothing for what is none, of which the field complains."""
    is_known = isinstance(version, int | float) and version in versions
    return dict(versions[int(version)]) if is_known else {}


def with_shape(
    handler: ModelWrapValidatorHandler[_Config],
    data: Mapping[str, Any],
    *,
    defaults: Mapping[str, Any],
    kind: type[SizedKwargs],
) -> _Config:
    """Validate a config whose `policy_kwargs` are laid over the shape that its version has.

    Args:
        handler: Validates.
        data: The settings.
        defaults: What the version sets, its shape under `policy_kwargs`. Of a size that is named,
            all widths are meant.
        kind: Of `policy_kwargs`.

    Returns:
        The config; what nobody wrote counts as not set.
    """
    given = data.get("policy_kwargs") or {}
    if not isinstance(given, Mapping):
        return handler(data)
    left_out = kind.widths() if "size" in given else ()
    shape = defaults.get("policy_kwargs", {})
    laid = {key: value for key, value in shape.items() if key not in left_out}
    config = handler({**defaults, **data, "policy_kwargs": {**laid, **given}})
    config.model_fields_set.intersection_update(data)
    config.policy_kwargs.model_fields_set.intersection_update(given)
    return config


def implied_settings(shape: SizedKwargs, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return what holds where nobody chose, by the version and by the size; see `Config`.

    Args:
        shape: `policy_kwargs` of the config.
        defaults: What the version sets, its own shape under `policy_kwargs`.
    """
    kind, size = type(shape), shape.size
    # A size that is named comes before the shape of a version; the default does not.
    left_out = () if size == kind.model_fields["size"].default else kind.widths()
    of_version = defaults.get("policy_kwargs", {})
    laid = {key: value for key, value in of_version.items() if key not in left_out}
    return {**defaults, "policy_kwargs": {**kind.SIZES[size], **laid}}
