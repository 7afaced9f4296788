"""The kernel against plain Python, reaction by reaction, and against closed forms."""

import time

import numpy as np
import pytest

pytest.importorskip("numba")

from gym_envs.ccas_ccar import CcasCcarVectorEnv, Kinetics
from gym_envs.ccas_ccar import kernel as kernel_module
from gym_envs.ccas_ccar.cells import build_tables
from tests.helpers.plain_gillespie import Rates, Words, hill, propensities, simulate_step

N = 20_000


def advance(*, light, minutes, h=0, f=0, n=N, seed=0):
    """Return H and F (N,) of cells that start at h and f, after `minutes` of one light."""
    env = CcasCcarVectorEnv(n)
    env.reset(seed=seed)
    env.cells.count[0], env.cells.count[1] = h, f
    for _ in range(minutes // 5):
        infos = env.step(np.full(n, light))[4]
    return infos["H"].astype(float), infos["F"].astype(float)


def assert_mean(sample, expected, *, variance):
    error = np.sqrt(variance / len(sample))
    assert abs(sample.mean() - expected) < 4.5 * error, (sample.mean(), expected, error)


def assert_variance(sample, expected, *, fourth_moment):
    # The variance of a sample variance is (mu_4 - sigma^4) / n for large n.
    error = np.sqrt((fourth_moment - expected**2) / len(sample))
    assert abs(sample.var() - expected) < 4.5 * error, (sample.var(), expected, error)


@pytest.mark.parametrize("kinetics_sigma", [0.0, 0.3])
def test_every_reaction_is_that_of_plain_python(kinetics_sigma):
    n_cells, n_steps = 12, 120
    env = CcasCcarVectorEnv(n_cells, kinetics_sigma=kinetics_sigma)
    env.reset(seed=3)
    rows = env.cells.kinetics.copy()
    rows[:, 3], rows[:, 5] = np.exp(rows[:, 3]), np.exp(rows[:, 5])
    rates = [Rates(*row) for row in rows.tolist()]
    words = [Words(*pair) for pair in env.cells.random.T.tolist()]
    levels = [(0, 0)] * n_cells
    lights = np.random.default_rng(0).random((n_steps, n_cells)) < 0.7
    for light in lights.astype(np.int64):
        infos = env.step(light)[4]
        levels = [
            simulate_step(*level, int(u), r, w)
            for level, u, r, w in zip(levels, light, rates, words, strict=True)
        ]
        shown = list(zip(infos["H"].tolist(), infos["F"].tolist(), strict=True))
        assert shown == levels
    assert [w.counter for w in words] == env.cells.random[0].tolist()
    assert min(h for h, _ in levels) > 10  # something happened


def test_propensities_by_hand():
    # (90/90)^3.6 / 2: half of half; F = 15 of 30: 0.5^3.6 = 0.082469, / 1.082469 = 0.076186.
    assert propensities(90, 15, 1, Rates()) == pytest.approx(
        [1.0, 0.9, 0.25, 0.5 * 0.076186, 0.15], rel=1e-5
    )
    tables = build_tables(Kinetics())
    assert tables[1, 90] == pytest.approx(0.25)
    assert tables[2, 15] == pytest.approx(0.5 * 0.076186, rel=1e-5)
    assert tables[1, 0] == 0.0
    assert tables[2, 0] == 0.0


@pytest.mark.parametrize("count", [0, 1, 25, 90, 400, 5_000])
def test_hill_beyond_the_table_too(count):
    logs = build_tables(Kinetics())[0]
    value = kernel_module.hill(count, np.log(90.0), 3.6, logs)
    assert value == pytest.approx(hill(count, 90.0, 3.6), rel=1e-12)


@pytest.mark.parametrize("minutes", [50, 200])
def test_green_light_makes_h_poisson_distributed(minutes):
    h, _ = advance(light=1, minutes=minutes)
    mean = 100.0 * (1.0 - np.exp(-0.01 * minutes))
    assert_mean(h, mean, variance=mean)
    # Poisson: the variance is the mean, mu_4 = mean + 3 mean^2.
    assert_variance(h, mean, fourth_moment=mean + 3.0 * mean**2)


def test_h_thins_out_in_red_light():
    h, _ = advance(light=0, minutes=100, h=120)
    survives = np.exp(-1.0)
    variance = 120 * survives * (1.0 - survives)
    assert_mean(h, 120 * survives, variance=variance)
    # Binomial: mu_4 = s^2 (1 + 3 (n - 2) p q) with s^2 = n p q.
    fourth = variance * (1.0 + 3.0 * 118 * survives * (1.0 - survives))
    assert_variance(h, variance, fourth_moment=fourth)


def test_f_is_made_at_the_rate_that_h_sets():
    # H = 0 and F = 1,000 molecules, far above half: F is made at 0.5 (1 - 3.3e-6), lost at 0.01 F.
    _, f = advance(light=0, minutes=50, f=1_000)
    p = np.exp(-0.5)
    made = 50.0 * (1.0 - p)
    # Survivors are binomial, and what was made since is Poisson: mean and variance add up.
    assert_mean(f, 1_000 * p + made, variance=1_000 * p * (1.0 - p) + made)
    # H = 5,000, far above half, makes F at 0.5 (1 - 5e-7) per minute; what F itself adds to the
    # first molecules is below 2e-4 per minute. So F is Poisson: 50 (1 - e^-0.05) = 2.4385.
    _, f = advance(light=0, minutes=5, h=5_000)
    assert_mean(f, 2.4385, variance=2.4385)
    assert_variance(f, 2.4385, fourth_moment=2.4385 + 3.0 * 2.4385**2)


def test_the_circuit_remembers_two_levels():
    # Half the light holds H near 50. With it 0.5 Hill(50) + 0.5 Hill(F) = 0.01 F has three roots:
    # 5.5 and 47.5 are stable, one between them is not.
    rate = 0.5 * hill(50, 90.0, 3.6)
    gains = [rate + 0.5 * hill(x, 30.0, 3.6) - 0.01 * x for x in (5.0, 6.0, 20.0, 40.0, 47.0, 48.5)]
    assert [gain > 0.0 for gain in gains] == [True, False, False, True, True, False]
    medians = []
    for start in (5, 47):
        env = CcasCcarVectorEnv(2_000)
        env.reset(seed=0)
        env.cells.count[0], env.cells.count[1] = 50, start
        for t in range(60):
            infos = env.step(np.full(2_000, t % 2))[4]
        medians.append(np.median(infos["F"]))
    assert abs(medians[0] - 5.5) < 2.5
    assert abs(medians[1] - 47.5) < 4.5


def test_a_million_control_steps_take_less_than_a_second_of_one_core():
    env = CcasCcarVectorEnv(1_024, copy=False)
    env.reset(seed=0)
    light = np.random.default_rng(0).integers(2, size=(100, 1_024))
    for action in light[:60]:  # H is near 45, F near 10 afterwards
        env.step(action)
    seconds = []
    for action in light[60:]:
        before = time.process_time()
        env.step(action)
        seconds.append(time.process_time() - before)
    assert 1_024 / np.median(seconds) > 1e6
