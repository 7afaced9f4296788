"""Names of Minari datasets, and where they lie; nothing heavy is imported."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

from utils.errors import ConfigError, MissingAssetError

ROOT_VARIABLE = "MINARI_DATASETS_PATH"
_ID = re.compile(r"(?:[-\w]+/)*[-\w]+-v\d+")


def check_dataset_id(dataset_id: str, *, name: str) -> None:
    """Refuse what Minari does not take for the name of a dataset.

    Args:
        dataset_id: Such as `cartpole/ppo-v0`.
        name: What the person calls the setting.

    Raises:
        ConfigError: It has another form.
    """
    if not _ID.fullmatch(dataset_id):
        raise ConfigError(
            f"{name}: '{dataset_id}' is no name of a Minari dataset: letters, digits, - and _, "
            "parts divided by /, and a version at the end, such as cartpole/ppo-v0"
        )


def datasets_root() -> Path:
    """Return the folder of all local datasets, as Minari finds it; it need not exist."""
    root = os.environ.get(ROOT_VARIABLE)
    return Path(root) if root else Path.home() / ".minari" / "datasets"


def dataset_folder(dataset_id: str) -> Path:
    """Return where a dataset lies, or would lie."""
    return datasets_root() / dataset_id


def has_dataset(dataset_id: str) -> bool:
    """Say whether a dataset is there."""
    return (dataset_folder(dataset_id) / "data").is_dir()


def list_datasets() -> list[str]:
    """Return the names of all local datasets, in order."""
    root = datasets_root()
    found = [path.parent.relative_to(root) for path in root.glob("**/data") if path.is_dir()]
    names = [path.as_posix() for path in found if not any(p.startswith(".") for p in path.parts)]
    return sorted(names)


def absent_dataset(dataset_id: str) -> MissingAssetError:
    """Build the error for a dataset that is not here; the nearest name is told."""
    near = difflib.get_close_matches(dataset_id, list_datasets(), n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return MissingAssetError(
        f"dataset: there is no Minari dataset '{dataset_id}' in {datasets_root()}{hint}: record it "
        f"with  python scripts/record_dataset.py RUN --dataset {dataset_id}  or set "
        "download_dataset=true"
    )
