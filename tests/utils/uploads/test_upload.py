"""Arrays on their way to a device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from utils.uploads import upload, upload_into

CPU = torch.device("cpu")
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def test_on_the_cpu_memory_is_shared_where_it_can_be() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    there = upload(array, CPU)
    array[0, 0] = 7
    assert there.tolist() == [[7, 1, 2], [3, 4, 5]]
    assert upload(array, CPU, torch.int64).dtype == torch.int64


def test_a_target_gets_values_in_its_own_dtype() -> None:
    target = torch.zeros(2, 2, 2)
    upload_into(target[1], np.arange(8, dtype=np.int64).reshape(2, 4)[:, ::2])
    assert target.tolist() == [[[0, 0], [0, 0]], [[0, 2], [4, 6]]]


@pytest.mark.gpu
@on_cuda
def test_what_is_uploaded_may_be_overwritten_at_once_and_nobody_waits() -> None:
    device = torch.device("cuda")
    array = np.zeros((64, 4, 84, 84), np.uint8)
    target = torch.zeros((64, 84, 84), dtype=torch.int32, device=device)
    upload(array, device)  # the first call asks for memory
    upload_into(target, array[:, -1])
    torch.cuda.synchronize()
    busy = torch.ones(4096, 4096, device=device)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(20):
            busy = busy @ busy
        seen = []
        for value in range(1, 9):
            array[:] = value
            seen.append(upload(array, device))
            upload_into(target, array[:, -1])
            array[:] = 0
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert [int(part.float().mean()) for part in seen] == list(range(1, 9))
    assert bool((target == 8).all())
