"""What a console is told while an epoch runs."""

import threading
from types import SimpleNamespace

from tests.helpers.agents import begin, make_agent
from trainer_callbacks.show_progress import ShowProgress


class Console:
    def __init__(self):
        self.begun: list[int] = []
        self.pulses: list[dict] = []
        self.is_told = threading.Event()

    def begin(self, *, timesteps, phases_done):
        self.begun.append((timesteps, phases_done))

    def pulse(self, **counts):
        self.pulses.append(counts)
        self.is_told.set()


def test_the_console_is_told_until_training_ends():
    console = Console()
    callback = ShowProgress(console, look_seconds=0.001)
    counters = SimpleNamespace(timesteps=100, epoch=2)
    agent = SimpleNamespace(counters=counters, counts_now=lambda: (128, 7), phases_done=1.5)
    callback.on_train_start(None, agent)
    assert console.is_told.wait(10.0)
    callback.on_train_end(None, agent)
    n_told = len(console.pulses)
    assert console.begun == [(100, 1.5)]
    assert console.pulses[0] == {"epoch": 2, "timesteps": 128, "updates": 7}
    callback.teardown(None, agent, "fit")
    assert len(console.pulses) == n_told
    assert not [t for t in threading.enumerate() if t.name == "progress"]


def test_one_that_never_began_can_end():
    ShowProgress(Console()).teardown(None, None, "fit")


def test_agents_know_their_counts_within_an_epoch():
    dqn = make_agent("Counting", algo_id="dqn")
    begin(dqn)
    dqn.source.collector.collect(3, is_random=True, write=dqn.source._write)
    assert dqn.counters.timesteps == 0
    assert dqn.counts_now() == (3 * dqn.train_env.num_envs, 0)
    ppo = make_agent("Counting")
    begin(ppo)
    ppo.rollout_source.collector.stepper.n_vec_steps = 5
    assert ppo.counts_now() == (5 * ppo.train_env.num_envs, 0)
