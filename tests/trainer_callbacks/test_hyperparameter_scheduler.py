import pytest

from tests.helpers.fake_agent import FakeAgent, FakeConfig
from trainer_callbacks.hyperparameter_scheduler import HyperparameterScheduler
from utils.schedules import ScheduleSpec


def rates(*, from_epoch=0, n_epochs):
    config = FakeConfig(
        max_timesteps=400,
        hyperparameters={"policy_lr": ScheduleSpec(3e-4, 0.0), "ent_coef": 0.01},
    )
    agent = FakeAgent(config)
    agent.callbacks = [HyperparameterScheduler()]
    agent.counters.epoch, agent.counters.timesteps = from_epoch, 100 * from_epoch
    agent.start()
    found = []
    for _ in range(n_epochs):
        agent.train_epoch()
        found.append(agent.hyperparameters["policy_lr"])
        assert agent.hyperparameters["ent_coef"] == 0.01
    return found


def test_decay_runs_over_the_whole_run_in_one_piece_or_in_four():
    expected = [3e-4, 2.25e-4, 1.5e-4, 0.75e-4]
    assert rates(n_epochs=4) == pytest.approx(expected, rel=1e-12)
    pieces = [rates(from_epoch=epoch, n_epochs=1)[0] for epoch in range(4)]
    assert pieces == rates(n_epochs=4)
