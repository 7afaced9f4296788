import torch

from agents.ppo.device_metrics import MeanSums


def test_means_are_weighted_and_a_key_without_weight_is_absent():
    sums = MeanSums(torch.device("cpu"))
    sums.note("a", torch.tensor(2.0), 3)
    sums.note("b", torch.tensor(5.0), torch.tensor(False))
    sums.note("a", torch.tensor(6.0))
    sums.add_noted()
    assert sums.read() == {"a": 3.0}  # 2 three times and 6 once
    sums.note("b", torch.tensor(7.0), torch.tensor(True))
    sums.add_noted()
    assert sums.read() == {"a": 3.0, "b": 7.0}
    sums.clear()
    assert sums.read() == {}


def test_a_value_that_is_not_a_number_shows():
    sums = MeanSums(torch.device("cpu"))
    sums.note("a", torch.tensor(1.0))
    sums.note("a", torch.tensor(float("nan")))
    sums.add_noted()
    assert sums.read()["a"] != sums.read()["a"]
