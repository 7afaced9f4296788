from concurrent.futures import ThreadPoolExecutor

import pytest

from agents.loading import load_policy
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from utils.errors import CheckpointError, RunNotFoundError, UserError
from utils.inspection.desk import Desk, count_of
from utils.inspection.main_thread import MainThread
from utils.inspection.media import MediaShelf
from utils.inspection.progress import Progress
from utils.inspection.studio import Studio
from utils.storage import write_json


class SameThread(MainThread):
    """Makes calls at once."""

    def call(self, function, *args, **kwargs):
        return function(*args, **kwargs)

    def post(self, function, *args, **kwargs):
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(function, *args, **kwargs)


@pytest.fixture
def open_desk(tmp_path):
    studios = []

    def open_desk(*, first_checkpoint=None, n_runs=1, runs_dir=tmp_path / "my runs", **changes):
        config = make_config(**changes)
        runs = [make_run(runs_dir, config, states=[state_of(config)] * 2) for _ in range(n_runs)]
        progress = Progress()
        studio = Studio(load_policy, progress)
        studios.append(studio)
        desk = Desk(
            runs_dir=runs_dir,
            first_run=runs[0],
            first_checkpoint=first_checkpoint,
            studio=lambda: studio,
            main_thread=SameThread(),
            media=MediaShelf(),
            progress=progress,
        )
        return desk, runs

    yield open_desk
    for studio in studios:
        studio.close()


def test_what_there_is_to_choose(open_desk):
    desk, (first, second) = open_desk(n_runs=2)
    assert desk.run_ids() == [second.id, first.id]
    assert desk.first_run_id == first.id
    assert [name for _, name in desk.checkpoints(first.id)] == ["epoch=00", "epoch=01"]
    labels = [label for label, _ in desk.checkpoints(first.id)]
    assert labels == ["epoch=00 · best", "epoch=01 · last"]
    assert desk.first_checkpoint(first.id) == "epoch=00"
    assert desk.default_mode(first.id) == "greedy"


def test_a_checkpoint_that_was_asked_for_is_chosen_first(open_desk):
    desk, (run,) = open_desk(first_checkpoint="epoch=01", eval_deterministic=False)
    assert desk.first_checkpoint(run.id) == "epoch=01"
    assert desk.default_mode(run.id) == "sampled"


def test_a_run_elsewhere_is_listed_too(open_desk, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    desk, (run,) = open_desk(runs_dir=elsewhere)
    desk._runs_dir = tmp_path / "empty"
    assert desk.run_ids() == [run.id]
    assert desk.checkpoints(run.id)


def test_an_episode_is_recorded_once_and_listed(open_desk):
    desk, (run,) = open_desk()
    assert desk.table(run.id, "epoch=00", None)[1] == []
    value = desk.show(run.id, "epoch=00", None, seed=4, mode="greedy")
    (episode,) = value["episodes"]
    assert (episode["length"], episode["request"]["seed"]) == (5, 4)
    headers, rows = desk.table(run.id, "epoch=00", None)
    assert headers == ["seed", "actions", "return", "length", "end"]
    assert rows == [[4, "greedy", 5.0, 5, "terminated"]]
    desk._studio = None  # not asked again
    assert desk.show(run.id, "epoch=00", None, seed=4, mode="greedy")["episodes"][0] == episode


def test_two_policies_play_the_same_seeds(open_desk):
    desk, (run,) = open_desk(spec={"solved_threshold": 5.0})
    value = desk.show(run.id, "epoch=00", "epoch=01", seed=4, mode="sampled")
    assert [episode["name"] for episode in value["episodes"]] == ["epoch=00", "epoch=01"]
    assert {episode["request"]["seed"] for episode in value["episodes"]} == {4}
    desk.show(run.id, "epoch=00", None, seed=6, mode="sampled")
    headers, rows = desk.table(run.id, "epoch=00", "epoch=01")
    assert headers[-1] == "epoch=01"
    assert [row[4:] for row in rows] == [["terminated ✓", 5.0], ["terminated ✓", "-"]]
    one = desk.show(run.id, "epoch=00", "epoch=00", seed=4, mode="sampled")
    assert len(one["episodes"]) == 1


def test_a_question_is_answered_beside_the_episode(open_desk):
    desk, (run,) = open_desk()
    episode = desk.show(run.id, "epoch=00", None, seed=4, mode="greedy")["episodes"][0]
    question = {"run": run.id, "request": episode["request"], "step": 2, "action": [0]}
    value = desk.what_if(question)["value"]
    assert value["branch_step"] == 2
    assert value["episodes"][0] == episode
    assert value["episodes"][1]["request"]["branch"] == {"step": 2, "action": (0.0,)}
    assert desk.table(run.id, "epoch=00", None)[1] == [[4, "greedy", 5.0, 5, "terminated"]]


@pytest.mark.parametrize(
    "changes", [{"step": 99}, {"action": [7]}, {"run": "../x"}, {"request": None}, {"step": "x"}]
)
def test_a_question_without_sense_is_told_in_one_line(open_desk, changes):
    desk, (run,) = open_desk()
    request = {"checkpoint": "epoch=00", "seed": 4, "is_deterministic": True}
    question = {"run": run.id, "request": request, "step": 2, "action": [0]} | changes
    (key,) = (answer := desk.what_if(question))
    assert key == "error"
    assert len(answer["error"].splitlines()) == 1
    assert "error" in desk.what_if("nonsense")


def test_names_from_a_browser_are_never_taken_for_paths(open_desk):
    desk, (run,) = open_desk()
    for name in ("../my runs", str(run.path), "..", "", f"{run.id}/"):
        with pytest.raises(RunNotFoundError):
            desk.summary(name)
    checkpoint = run.checkpoint("epoch=00")
    for name in (str(checkpoint), "../checkpoints/epoch=00", "best", "@best", "epoch=7", ""):
        with pytest.raises(CheckpointError):
            desk.show(run.id, name, None, seed=0, mode="greedy")


@pytest.mark.parametrize("seed", [-1, 2**31, 0.5, None, "3", True])
def test_a_seed_is_checked(open_desk, seed):
    desk, (run,) = open_desk()
    with pytest.raises(UserError, match="a seed is a whole number"):
        desk.show(run.id, "epoch=00", None, seed=seed, mode="greedy")


def test_modes_and_numbers_of_episodes_are_checked(open_desk):
    desk, (run,) = open_desk()
    with pytest.raises(UserError, match="actions are greedy or sampled"):
        desk.show(run.id, "epoch=00", None, seed=0, mode="best")
    assert count_of(3.0) == 3
    for number in (0, 101, 1.5, None):
        with pytest.raises(UserError):
            count_of(number)


def test_names_are_escaped_in_the_summary(open_desk):
    desk, (run,) = open_desk(
        config_id="<img src=x onerror=alert(1)>:ppo", spec={"summary": "a <script> & more"}
    )
    write_json(run.results_path, {"test": {"best": {"mean": 12.5}}})
    summary = desk.summary(run.id)
    assert "<img" not in summary
    assert "<script>" not in summary
    assert "&lt;script&gt; &amp; more" in summary
    assert "best policy 12.50 in the test" in summary


def test_a_run_without_checkpoints_can_be_looked_at(open_desk, tmp_path):
    desk, (run,) = open_desk()
    for path in run.checkpoints_dir.iterdir():
        path.unlink()
    assert desk.checkpoints(run.id) == []
    assert desk.first_checkpoint(run.id) is None
    assert desk.table(run.id, None, None)[1] == []
    assert desk.summary(run.id)


def test_a_run_that_cannot_be_shown_says_why_and_offers_nobody(open_desk):
    desk, (run,) = open_desk()
    write_json(run.config_path, {"config_id": "<b>old</b>:ppo", "schema_version": 99})
    assert "written by a newer program" in desk.problem(run.id)
    assert (desk.checkpoints(run.id), desk.first_checkpoint(run.id)) == ([], None)
    assert desk.default_mode(run.id) == "greedy"
    assert run.id in desk.summary(run.id)


def test_a_run_without_a_checkpoint_says_so(open_desk):
    desk, (run,) = open_desk()
    assert desk.problem(run.id) is None
    for path in run.checkpoints_dir.iterdir():
        path.unlink()
    assert "no checkpoint yet" in desk.problem(run.id)


@pytest.mark.parametrize(
    "about", [{"counters": 3}, {"counters": {}}, {"counters": {"timesteps": "x"}}]
)
def test_a_damaged_file_beside_a_checkpoint_costs_its_timesteps_only(open_desk, about):
    desk, (run,) = open_desk()
    write_json(run.checkpoints_dir / "epoch=00.json", about)
    write_json(run.checkpoints_dir / "epoch=01.json", {"counters": {"timesteps": 2000}})
    labels = [label for label, _ in desk.checkpoints(run.id)]
    assert labels == ["epoch=00 · best", "epoch=01 · last · 2,000 timesteps"]
    assert desk.curves(run.id)["marks"] == [{"name": "epoch=01", "x": 2000}]


def test_results_of_another_shape_are_left_out(open_desk):
    desk, (run,) = open_desk()
    write_json(run.results_path, {"test": [1]})
    assert "in the test" not in desk.summary(run.id)


def test_a_recording_can_be_stopped_and_leaves_nothing(open_desk):
    desk, (run,) = open_desk()
    assert not desk.is_recorded(run.id, "epoch=00", None, seed=0, mode="greedy")
    note_steps = desk._progress.note_steps
    seen = []

    def stop_at_step_2(n_steps):
        seen.append(desk.progress())
        if n_steps == 2:
            desk.stop()
        note_steps(n_steps)

    desk._progress.note_steps = stop_at_step_2
    with pytest.raises(UserError, match="nothing is kept"):
        desk.show(run.id, "epoch=00", None, seed=0, mode="greedy")
    assert seen[-1]["what"] == f"{run.id}, epoch=00, seed 0, greedy"
    assert not (run.path / "inspection").exists()
    desk._progress.note_steps = note_steps
    desk.show(run.id, "epoch=00", None, seed=0, mode="greedy")
    assert desk.is_recorded(run.id, "epoch=00", None, seed=0, mode="greedy")
    assert not desk.is_recorded(run.id, "epoch=00", "epoch=01", seed=0, mode="greedy")
    assert not desk.is_recorded(run.id, "nope", None, seed=0, mode="greedy")


def test_a_dream_is_told_and_what_cannot_be_dreamt_in_one_line(open_desk):
    desk, (run,) = open_desk()
    value = desk.show(run.id, "epoch=00", None, seed=4, mode="greedy")
    assert value["dreams"] is None
    request = value["episodes"][0]["request"]
    question = {"run": run.id, "request": request, "step": 1, "horizon": 3, "actions": "own"}
    assert desk.dream(question) == {"error": "ppo has no world model: nothing can be dreamt"}
    for changes in ({"run": "../x"}, {"request": None}, {"step": 1e99}, {"horizon": None}):
        (key,) = (answer := desk.dream(question | changes))
        assert key == "error"
        assert len(answer["error"].splitlines()) == 1
    gone = request | {"branch": {"step": 1, "action": [0]}}
    assert "no longer there" in desk.dream(question | {"request": gone})["error"]
    assert "error" in desk.dream("nonsense")


def test_a_plan_of_an_agent_that_chooses_at_once_is_refused_in_one_line(open_desk):
    desk, (run,) = open_desk()
    value = desk.show(run.id, "epoch=00", None, seed=4, mode="greedy")
    assert value["plans"] is None
    question = {"run": run.id, "request": value["episodes"][0]["request"], "step": 1}
    assert desk.plan(question) == {"error": "ppo does not plan: it chooses at once"}
    for asked in (question | {"step": "x"}, question | {"run": "../x"}, "nonsense"):
        (key,) = (answer := desk.plan(asked))
        assert key == "error"
        assert len(answer["error"].splitlines()) == 1
