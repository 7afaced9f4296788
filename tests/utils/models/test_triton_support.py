"""What Triton needs to make kernels."""

from __future__ import annotations

import importlib.util
import shutil
import sysconfig

import pytest
import torch

from utils.models.triton_support import why_no_triton


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Let this be a machine with a GPU where Triton finds all that it needs."""
    (tmp_path / "Python.h").touch()
    programs = {"gcc"}
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in programs else None)
    monkeypatch.setattr(sysconfig, "get_paths", lambda scheme: {"include": str(tmp_path)})
    why_no_triton.cache_clear()
    yield programs
    why_no_triton.cache_clear()


def test_with_a_compiler_and_headers_nothing_is_missing(machine) -> None:
    assert why_no_triton() is None
    why_no_triton.cache_clear()
    machine.clear()
    machine.add("clang")
    assert why_no_triton() is None


def test_without_a_compiler_there_are_no_kernels_unless_one_is_named(machine, monkeypatch) -> None:
    machine.clear()
    assert "neither gcc nor clang" in (why_no_triton() or "")
    why_no_triton.cache_clear()
    monkeypatch.setenv("CC", "zig cc")
    assert why_no_triton() is None


def test_without_headers_of_python_there_are_none(machine, tmp_path) -> None:
    (tmp_path / "Python.h").unlink()
    assert "Python.h" in (why_no_triton() or "")


def test_torch_without_cuda_has_none(machine, monkeypatch) -> None:
    monkeypatch.setattr(torch.version, "cuda", None)
    assert why_no_triton() == "Triton is not installed"
