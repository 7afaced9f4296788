import av
import gymnasium as gym
import numpy as np
import pytest

from agents.loading import load_policy
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from utils.errors import CheckpointError, UserError
from utils.inspection.record import EpisodeRequest
from utils.inspection.recording import CannotReplayError
from utils.inspection.store import EpisodeStore, fingerprint
from utils.inspection.studio import Studio


@pytest.fixture
def studio():
    studio = Studio(load_policy)
    yield studio
    studio.close()


def make_played_run(runs_dir, **changes):
    config = make_config(**changes)
    return make_run(runs_dir, config, states=[state_of(config)]), config


def request_of(run, *, seed=3, is_deterministic=True):
    return EpisodeRequest(
        checkpoint="epoch=00",
        fingerprint=fingerprint(run.checkpoint("epoch=00")),
        seed=seed,
        is_deterministic=is_deterministic,
    )


def frames(path):
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


@pytest.mark.parametrize("ending", ["terminated", "truncated"])
def test_the_film_shows_the_states_of_this_episode_and_no_other(studio, tmp_path, ending):
    run, config = make_played_run(tmp_path, env_kwargs={"ending": ending})
    for seed in (0, 1):  # the second has nothing of the first
        stored = studio.record(run, config, request_of(run, seed=seed))
        shown = frames(stored.film)
        # Green is 20 times the step; the film is a little lossy.
        assert [round(float(frame[..., 1].mean()) / 20) for frame in shown] == [0, 1, 2, 3, 4, 5]
        assert len({round(float(frame[..., 0].mean()) / 40) for frame in shown}) == 1
        assert shown[0].shape == (36, 48, 3)  # 35 x 47, made even
    record = stored.record
    assert (record.frame_size, record.fps, record.end) == ((48, 36), 12.0, ending)
    assert (record.timesteps, record.length, record.episode_return) == (48, 5, 5.0)


def test_what_the_network_sees_is_filmed_too(studio, tmp_path):
    run, config = make_played_run(
        tmp_path, env_id="tests.helpers.envs:Picture-v0", frame_stack=2, env_kwargs={"first": 20}
    )
    stored = studio.record(run, config, request_of(run))
    assert stored.film is None
    shown = frames(stored.view_film)
    assert len(shown) == 6
    for t, frame in enumerate(shown):
        before, now = frame[20:-20, 20:220].mean(), frame[20:-20, 264:460].mean()
        assert before == pytest.approx(20 + max(t - 1, 0), abs=2)
        assert now == pytest.approx(20 + t, abs=2)


def test_success_is_the_threshold_of_the_task_where_the_environment_is_silent(studio, tmp_path):
    for threshold, expected in ((4.0, True), (6.0, False), (None, None)):
        run, config = make_played_run(tmp_path, spec={"solved_threshold": threshold})
        assert studio.record(run, config, request_of(run)).record.is_success is expected


def test_other_action_and_what_follows(studio, tmp_path):
    run, config = make_played_run(tmp_path, env_id="CartPole-v1", max_episode_steps=60)
    original = studio.record(run, config, request_of(run, is_deterministic=False))
    was, t = original.record.traces, 4
    other = int(1 - was["action"][t, 0])
    branch = studio.what_if(run, config, original=original, step=t, action=[other])
    now = branch.record.traces
    assert np.array_equal(now["observation"][: t + 1], was["observation"][: t + 1])
    assert np.array_equal(now["action"][:t], was["action"][:t])
    assert now["action"][t, 0] == other
    # What follows is what Gymnasium itself makes of these actions.
    env = gym.make("CartPole-v1")
    observation, _ = env.reset(seed=3)
    for step, action in enumerate(now["action"][:, 0]):
        assert np.array_equal(now["observation"][step], observation)
        observation, reward, terminated, _, _ = env.step(int(action))
        assert now["reward"][step] == reward
    assert np.array_equal(now["observation"][-1], observation)
    assert terminated == (branch.record.end == "terminated")
    env.close()
    assert len(frames(branch.film)) == branch.record.length + 1


def test_the_same_question_is_answered_from_the_disk(studio, tmp_path):
    run, config = make_played_run(tmp_path, env_id="CartPole-v1", max_episode_steps=20)
    original = studio.record(run, config, request_of(run))
    first = studio.what_if(run, config, original=original, step=2, action=[0])
    stamp = first.film.stat().st_mtime_ns
    again = studio.what_if(run, config, original=original, step=2, action=[0])
    assert (again.folder, again.film.stat().st_mtime_ns) == (first.folder, stamp)


def test_an_environment_that_cannot_be_taken_back_says_so(studio, tmp_path):
    run, config = make_played_run(tmp_path, env_id="tests.helpers.envs:CarryOver-v0")
    original = studio.record(run, config, request_of(run))
    with pytest.raises(CannotReplayError, match="CarryOver-v0 cannot be taken back to step 1"):
        studio.what_if(run, config, original=original, step=1, action=[0])
    files = [path for path in EpisodeStore(run).folder.rglob("*") if path.is_file()]
    assert all("step=" not in str(path) for path in files)


@pytest.mark.parametrize(("step", "action"), [(5, [0]), (-1, [0]), (0, [2]), (0, "left")])
def test_a_question_without_sense_is_one_line(studio, tmp_path, step, action):
    run, config = make_played_run(tmp_path)
    original = studio.record(run, config, request_of(run))
    with pytest.raises(UserError) as error:
        studio.what_if(run, config, original=original, step=step, action=action)
    assert len(str(error.value).splitlines()) == 1


def test_an_interrupt_leaves_no_half_recording(studio, tmp_path, monkeypatch):
    run, config = make_played_run(tmp_path)
    studio.record(run, config, request_of(run, seed=0))
    calls = []

    def interrupt(*args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*args)

    env = studio._stage.env.envs[0].unwrapped
    original = env.step
    monkeypatch.setattr(type(env), "step", lambda self, action: interrupt(action))
    studio.close()
    with pytest.raises(KeyboardInterrupt):
        studio.record(run, config, request_of(run, seed=1))
    names = {path.name for path in EpisodeStore(run).folder.rglob("*")}
    assert "greedy-seed=1" not in names
    assert not any("partial" in name for name in names)


def test_where_drawing_fails_numbers_are_recorded_and_it_is_told(studio, tmp_path, monkeypatch):
    from tests.helpers.envs import DrawingEnv

    def fail(self):
        raise RuntimeError("no display")

    monkeypatch.setattr(DrawingEnv, "render", fail)
    run, config = make_played_run(tmp_path)
    record = studio.record(run, config, request_of(run)).record
    assert record.frame_size is None
    assert "RuntimeError: no display" in record.notes[0]


def test_another_run_closes_the_environment_of_the_first(studio, tmp_path):
    first, config = make_played_run(tmp_path / "a")
    second, other = make_played_run(tmp_path / "b", env_kwargs={"length": 3})
    studio.record(first, config, request_of(first))
    env = studio._stage.env
    assert studio.record(second, other, request_of(second)).record.length == 3
    assert env.closed


def test_a_checkpoint_of_other_spaces_is_refused_with_both(studio, tmp_path):
    six, eighteen = (
        make_config(env_id="tests.helpers.envs:Identity-v0", env_kwargs={"n": n}) for n in (6, 18)
    )
    run = make_run(tmp_path, eighteen, states=[state_of(six)])
    with pytest.raises(CheckpointError, match=r"discrete\(6\).*discrete\(18\)"):
        studio.record(run, eighteen, request_of(run))


def test_the_reward_factor_of_a_normaliser_is_read(studio, tmp_path):
    config = make_config(normalize_reward=True)
    state = state_of(config) | {
        "source": {"collector": {"reward_normalizer": {"moments.var": np.float64(4.0)}}}
    }
    run = make_run(tmp_path, config, states=[state])
    traces = studio.record(run, config, request_of(run)).record.traces
    assert traces["learner_reward"] == pytest.approx([0.5] * 5)
    bare = make_run(tmp_path, config, states=[state_of(config)])
    assert "advantage" not in studio.record(bare, config, request_of(bare)).record.traces
