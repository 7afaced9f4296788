"""What holds before any test is imported."""

from __future__ import annotations

import os

import torch

if not torch.cuda.is_available():  # Triton reads it once, when it is first imported by anybody
    os.environ["TRITON_INTERPRET"] = "1"
