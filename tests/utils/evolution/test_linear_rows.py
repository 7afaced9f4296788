from __future__ import annotations

import torch

from utils.evolution import LinearShape, control_rows


def test_each_row_has_weights_and_biases_of_its_own() -> None:
    shape = LinearShape(2, 2)
    assert shape.n_parameters == 6
    parameters = torch.tensor([[1.0, 2.0, 3.0, 4.0, 10.0, 20.0], [0.0, 1.0, 0.0, 0.0, 0.0, -1.0]])
    features = torch.tensor([[[1.0, 1.0]], [[5.0, 7.0]]])
    # 1 + 2 + 10, 3 + 4 + 20; 7, -1
    assert control_rows(shape, parameters, features).tolist() == [[[13.0, 27.0]], [[7.0, -1.0]]]
