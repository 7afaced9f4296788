"""Trials that go wrong in every way; at module level, so that another process can import them."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import time

from utils.errors import ConfigError, MissingAssetError, MissingDependencyError


def act(config_id: str) -> str:  # noqa: C901 - a table of deeds
    """Do what the config id says."""
    match config_id:
        case "prints":
            print("something first")
            return "two episodes"
        case "raises":
            raise ValueError("no such door")
        case "errs":
            raise ConfigError("wrong key")
        case "lacks":
            raise MissingDependencyError("box2d", extra="box2d", needed_for="LunarLander-v3")
        case "hangs":
            print("at the door", flush=True)
            time.sleep(60)
        case "no rom":
            raise MissingAssetError("import the ROM of Pong")
        case "naps":
            time.sleep(2)
        case "spawns":
            subprocess.Popen(["sleep", "60"])
        case "dies":
            os.abort()
        case "leaks":
            process = multiprocessing.get_context("fork").Process(
                target=time.sleep, args=(60,), name="sleeper", daemon=True
            )
            process.start()
    return "done"
