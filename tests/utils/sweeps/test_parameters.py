import math
import statistics

import pytest

from utils.sweeps.parameters import read_parameter


class Chooser:
    """Chooses what lies at a fraction of each range."""

    def __init__(self, fraction):
        self.fraction = fraction

    def suggest_categorical(self, name, choices):
        return choices[min(int(self.fraction * len(choices)), len(choices) - 1)]

    def suggest_int(self, name, low, high):
        return low + round(self.fraction * (high - low))

    def suggest_float(self, name, low, high, *, log=False):
        if log:
            return low * (high / low) ** self.fraction
        return low + self.fraction * (high - low)


def at(entry, fraction):
    return read_parameter(entry).suggest("x", Chooser(fraction))


@pytest.mark.parametrize(
    ("entry", "fraction", "value"),
    [
        ({"value": 3}, 0.5, 3),
        ({"values": [1, 2, 3]}, 0.5, 2),
        ({"values": [[64, 64], {"a": 1}]}, 0.9, {"a": 1}),
        ({"min": 1, "max": 9}, 0.5, 5),
        ({"min": 1.0, "max": 9}, 0.25, 3.0),
        # exp(0) = 1 to exp(2): the middle is exp(1).
        ({"distribution": "log_uniform", "min": 0, "max": 2}, 0.5, math.e),
        # 1e-4 to 1e-2: the middle of the logarithms is 1e-3.
        ({"distribution": "log_uniform_values", "min": 1e-4, "max": 1e-2}, 0.5, 1e-3),
        ({"distribution": "inv_log_uniform_values", "min": 1e-4, "max": 1e-2}, 0.5, 1e-3),
        # log(1 / x) from 0 to 2: x from 1 to exp(-2).
        ({"distribution": "inv_log_uniform", "min": 0, "max": 2}, 0.5, math.exp(-1)),
        # 0 + 0.43 * 10 = 4.3, to the nearest multiple of 2.
        ({"distribution": "q_uniform", "min": 0, "max": 10, "q": 2}, 0.43, 4),
        ({"distribution": "q_uniform", "min": 0, "max": 1, "q": 0.1}, 0.33, 0.3),
        # 8 * 16^0.5 = 32 to the nearest multiple of 8.
        ({"distribution": "q_log_uniform_values", "min": 8, "max": 128, "q": 8}, 0.5, 32),
        ({"mu": 5.0, "sigma": 2.0}, 0.5, 5.0),
        # One deviation above the mean is the quantile 0.8413447.
        ({"distribution": "normal", "mu": 5.0, "sigma": 2.0}, 0.8413447, 7.0),
        ({"distribution": "log_normal", "mu": 1.0, "sigma": 2.0}, 0.5, math.e),
        ({"distribution": "q_normal", "mu": 5.4, "sigma": 1.0}, 0.5, 5),
        ({"values": ["a", "b", "c"], "probabilities": [0.5, 0.25, 0.25]}, 0.4, "a"),
        ({"values": ["a", "b", "c"], "probabilities": [0.5, 0.25, 0.25]}, 0.6, "b"),
        ({"values": ["a", "b", "c"], "probabilities": [0.5, 0.25, 0.25]}, 0.8, "c"),
        ({"distribution": "categorical", "values": [1, 2], "probabilities": [1, 3]}, 0.3, 2),
    ],
)
def test_a_value_at_a_place_of_its_distribution(entry, fraction, value):
    found = at(entry, fraction)
    assert found == pytest.approx(value, rel=1e-5) if isinstance(value, float) else found == value


def test_the_types_are_those_of_the_config():
    assert type(at({"min": 1, "max": 9}, 0.3)) is int
    assert type(at({"distribution": "q_uniform", "min": 0, "max": 10, "q": 2}, 0.3)) is int
    assert type(at({"min": 1.0, "max": 9.0}, 0.5)) is float


def test_a_normal_law_has_its_mean_and_deviation():
    values = [at({"mu": 3.0, "sigma": 0.5}, (i + 0.5) / 2000) for i in range(2000)]
    assert statistics.fmean(values) == pytest.approx(3.0, abs=1e-3)
    assert statistics.pstdev(values) == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("entry", "grid"),
    [
        ({"value": 1}, [1]),
        ({"values": [1, [2]]}, [1, [2]]),
        ({"min": 1, "max": 3}, [1, 2, 3]),
        ({"distribution": "q_uniform", "min": 0, "max": 1, "q": 0.5}, [0.0, 0.5, 1.0]),
        ({"min": 0.0, "max": 1.0}, None),
    ],
)
def test_the_points_of_a_grid_lead_back_to_their_values(entry, grid):
    parameter = read_parameter(entry)
    assert parameter.grid() == grid
    for value in grid or []:
        for coordinate in parameter.encode(value).values():

            class Given:
                suggest_categorical = suggest_int = suggest_float = staticmethod(
                    lambda *args, coordinate=coordinate, **kwargs: coordinate
                )

            assert parameter.suggest("x", Given()) == value


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (3, "must be a mapping such as"),
        ({}, "must have 'value', 'values', or 'min' and 'max'"),
        ({"distribution": "uniformly", "min": 0, "max": 1}, "did you mean 'uniform'?"),
        ({"distribution": "beta", "a": 1, "b": 1}, "unknown distribution 'beta'"),
        ({"distribution": "uniform", "min": 0}, "uniform needs 'max'"),
        ({"min": 0.0, "max": 1.0, "q": 1}, "uniform does not take 'q'"),
        ({"min": 2, "max": 1}, "'min' must be less than 'max', got 2 and 1"),
        ({"values": []}, "'values' must be a list with at least one entry"),
        ({"values": 3}, "'values' must be a list with at least one entry"),
        ({"min": "a", "max": 1}, "'min' must be a number, got 'a'"),
        ({"distribution": "int_uniform", "min": 0.5, "max": 2}, "must be whole numbers"),
        ({"distribution": "log_uniform_values", "min": 0, "max": 2}, "'min' must be > 0, got 0"),
        ({"mu": 0, "sigma": 0}, "'sigma' must be > 0"),
        ({"values": [1, 2], "probabilities": [1]}, "one entry for each of 'values'"),
        ({"values": [1, 2], "probabilities": [0, 0]}, "not all 0"),
    ],
)
def test_a_wrong_parameter_says_what_to_write(entry, message):
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        read_parameter(entry)
