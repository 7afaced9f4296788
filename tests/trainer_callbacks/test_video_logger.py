import logging
import random
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.helpers.dreamer_runs import dreamer_config
from tests.helpers.played_runs import make_config, make_run
from tests.helpers.policies import build_linear_policy
from trainer_callbacks import video_logger
from trainer_callbacks.video_logger import VideoLogger
from utils.checkpoints import point, save_checkpoint
from utils.metrics import Counters
from utils.playback.environment import build_playback_env


class FakeClock:
    now = 0.0

    def __call__(self):
        return self.now


class FakeWriter:
    def __init__(self):
        self.videos = []

    def write_video(self, path, *, timesteps):
        assert path.exists()
        self.videos.append((path.name, timesteps))


class Training:
    """Calls a callback as a training does, and saves checkpoints as one would."""

    def __init__(self, runs_dir, *, writers=(), seconds_between=1e9, **changes):
        config = make_config(**changes)
        env = build_playback_env(config, render_mode=None)
        self.agent = SimpleNamespace(
            is_interrupted=False,
            config=config,
            run=make_run(runs_dir, config, states=[], best=None),
            policy=build_linear_policy(env),
            counters=Counters(),
            n_evaluations=0,
            best_return=None,
            compute_device=torch.device("cpu"),
        )
        env.close()
        self.clock = FakeClock()
        self.callback = VideoLogger(writers, seconds_between=seconds_between, clock=self.clock)
        self.callback.on_train_start(None, self.agent)

    def epoch(self, evaluation=None):
        agent = self.agent
        agent.counters.epoch += 1
        agent.counters.timesteps += 16
        is_best = False
        if evaluation is not None:
            agent.n_evaluations += 1
            is_best = agent.best_return is None or evaluation > agent.best_return
            agent.best_return = evaluation if is_best else agent.best_return
        self.callback.on_train_epoch_end(None, agent)
        self.save(is_best=is_best)

    def save(self, *, is_best):
        folder = self.agent.run.checkpoints_dir
        path = folder / f"epoch={self.agent.counters.epoch:02}.ckpt"
        counters = self.agent.counters.to_dict()
        save_checkpoint(path, {"policy": self.agent.policy.state_dict(), "counters": counters})
        for name in ("last", "best") if is_best else ("last",):
            point(folder, name, path)

    def end(self):
        self.callback.on_fit_end(None, self.agent)

    @property
    def films(self):
        folder = self.agent.run.videos_dir
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_every_evaluation_is_filmed(tmp_path):
    writer = FakeWriter()
    training = Training(tmp_path, video="every", writers=[writer])
    for evaluation in (None, 3.0, None, 1.0, float("nan")):
        training.epoch(evaluation)
    training.end()
    assert training.films == ["epoch=02.mp4", "epoch=04.mp4", "epoch=05.mp4"]
    assert writer.videos[0] == ("epoch=02.mp4", 32)


def test_the_last_policy_is_filmed_at_the_end(tmp_path):
    training = Training(tmp_path, video="last")
    for evaluation in (None, 3.0, 1.0):
        training.epoch(evaluation)
    assert training.films == []
    training.end()
    assert training.films == ["epoch=03.mp4"]


def test_an_interrupted_run_is_left_without_a_last_film(tmp_path):
    training = Training(tmp_path, video="best")
    training.epoch(1.0)
    training.agent.is_interrupted = True
    training.end()
    assert training.films == []


def test_a_short_run_films_its_best_policy_once(tmp_path):
    training = Training(tmp_path, video="best")
    for evaluation in (1.0, 3.0, 2.0):
        training.epoch(evaluation)
    assert training.films == []
    training.end()
    assert training.films == ["epoch=02.mp4"]


def test_a_long_run_films_new_best_policies_as_they_come(tmp_path):
    training = Training(tmp_path, video="best", seconds_between=60.0)
    for now, evaluation in ((10, 1.0), (61, 2.0), (70, 3.0), (200, 2.5), (210, 4.0), (220, 3.0)):
        training.clock.now = now
        training.epoch(evaluation)
    # Epoch 2 is the first after a minute, 3 comes too soon after it, 4 is no best one.
    assert training.films == ["epoch=02.mp4", "epoch=05.mp4"]
    training.end()
    assert training.films == ["epoch=02.mp4", "epoch=05.mp4"]


def test_the_film_of_the_best_policy_shows_its_weights_not_the_last_ones(tmp_path, monkeypatch):
    filmed = []
    monkeypatch.setattr(
        "trainer_callbacks.video_logger.film_episode",
        lambda config, policy, path, **_: filmed.append(policy.actor_head.bias.tolist()),
    )
    training = Training(tmp_path, video="best")
    for evaluation, bias in ((1.0, 0.25), (2.0, 0.5), (1.0, 0.75)):
        with torch.no_grad():
            training.agent.policy.actor_head.bias.fill_(bias)
        training.epoch(evaluation)
    training.end()
    assert filmed == [[0.5, 0.5]]
    assert training.agent.policy.actor_head.bias.tolist() == [0.75, 0.75]


def test_a_resumed_run_does_not_take_its_old_best_for_a_new_one(tmp_path):
    training = Training(tmp_path, video="best", seconds_between=0.0)
    training.agent.best_return, training.agent.n_evaluations = 10.0, 4
    training.callback.on_train_start(None, training.agent)
    training.epoch(9.0)
    training.epoch()
    assert training.films == []


def test_filming_touches_no_generator(tmp_path, monkeypatch):
    training = Training(tmp_path, video="every", env_id="CartPole-v1", eval_deterministic=False)
    film_episode = video_logger.film_episode

    def film_with_an_environment_that_draws_from_global_generators(*arguments, **options):
        draw()
        return film_episode(*arguments, **options)

    def draw():
        return random.random(), np.random.random(), torch.rand(1).item()  # noqa: NPY002

    def seed():
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)

    monkeypatch.setattr(
        video_logger, "film_episode", film_with_an_environment_that_draws_from_global_generators
    )
    seed()
    expected = draw()
    seed()
    training.epoch(1.0)
    assert draw() == expected
    assert training.films == ["epoch=01.mp4"]


def test_an_environment_that_cannot_be_drawn_costs_one_warning(tmp_path, caplog):
    training = Training(tmp_path, video="every", env_id="tests.helpers.envs:Counting-v0")
    with caplog.at_level(logging.WARNING, logger="gymnasium_solver"):
        for evaluation in (1.0, 2.0, 3.0):
            training.epoch(evaluation)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("no video: tests.helpers.envs:Counting-v0 cannot be drawn")
    assert training.films == []


def test_an_error_that_is_not_about_the_film_goes_through(tmp_path, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("trainer_callbacks.video_logger.film_episode", interrupt)
    training = Training(tmp_path, video="every")
    with pytest.raises(KeyboardInterrupt):
        training.epoch(1.0)


def test_a_film_is_cut_at_its_step_limit(tmp_path):
    import av

    training = Training(tmp_path, video="last", video_max_steps=3)
    training.epoch()
    training.end()
    with av.open(str(training.agent.run.videos_dir / "epoch=01.mp4")) as container:
        assert len(list(container.decode(video=0))) == 4


def test_a_film_of_the_best_policy_is_told_at_the_timesteps_of_its_checkpoint(tmp_path):
    writer = FakeWriter()
    training = Training(tmp_path, video="best", writers=[writer])
    training.epoch(5.0)
    training.epoch(1.0)
    training.end()
    assert writer.videos == [("epoch=01.mp4", 16)]


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_policy_with_a_world_model_is_filmed_dreaming(tmp_path, monkeypatch, is_wanted):
    def note(config, policy, path, **how):
        path.parent.mkdir(exist_ok=True)
        path.touch()
        filmed.append((path.name, how["seed"], how["max_steps"]))

    filmed = []
    monkeypatch.setattr(video_logger, "film_episode", note)
    monkeypatch.setattr("utils.playback.dream_film.film_dreams", note)
    training = Training(tmp_path, video="last", video_max_steps=3)
    training.agent.config = dreamer_config(video="last", video_max_steps=3, dream_video=is_wanted)
    training.epoch()
    training.callback.on_fit_end(None, training.agent)
    names = [name for name, *_ in filmed]
    assert names == ["epoch=01.mp4", *["dream-epoch=01.mp4"] * is_wanted]
    assert len({(seed, n_steps) for _, seed, n_steps in filmed}) == 1  # the same episode
