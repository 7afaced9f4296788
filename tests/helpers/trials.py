"""Trials that go wrong in every way; at module level, so that another process can import them."""

from __future__ import annotations

import multiprocessing
import os
import time

from utils.errors import ConfigError, MissingDependencyError


def act(config_id: str) -> str:
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
        case "dies":
            os.abort()
        case "leaks":
            process = multiprocessing.get_context("fork").Process(
                target=time.sleep, args=(60,), name="sleeper", daemon=True
            )
            process.start()
    return "done"
