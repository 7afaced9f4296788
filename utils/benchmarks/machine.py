"""What a measured speed depends on besides the code."""

from __future__ import annotations

import os
from typing import Any

from utils.run import environment_facts


def describe_machine(*, torch_threads: int) -> dict[str, Any]:
    """Return processor, cores, load, threads and versions as JSON values."""
    facts = environment_facts.collect()
    kept = ("processor", "cores", "usable_cores", "platform", "python", "packages", "git_commit")
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    return {
        "started_at": facts["started_at"],
        **{name: facts[name] for name in kept},
        "load_average": load,
        "torch_threads": torch_threads,
    }


def machine_line(machine: dict[str, Any]) -> str:
    """Say in one line on what was measured."""
    threads = machine["torch_threads"]
    plural = "s" if threads != 1 else ""
    load = machine["load_average"]
    return (
        f"{machine['processor']}, {machine['usable_cores']} cores, {threads} torch thread{plural}, "
        f"load {'unknown' if load is None else load} at the start"
    )
