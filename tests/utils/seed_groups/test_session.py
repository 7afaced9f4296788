"""Groups of seeds; a quick program stands in for train.py."""

import signal
from pathlib import Path

import pytest

import utils.seed_groups.members
import utils.seed_groups.session
from tests.helpers.commands import Command, processes_left
from utils.config.cli import parse_train_args
from utils.errors import ConfigError, RunFailedError
from utils.run import RunGroup, list_runs, read_labels
from utils.seed_groups import run_seeds

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def seeds(tmp_path, monkeypatch):
    """Run groups in this process with a quick program as train.py."""
    program = tmp_path / "program"
    program.mkdir()
    text = (ROOT / "tests" / "helpers" / "quick_seed.py").read_text()
    text = text.replace("str(Path(__file__).resolve().parents[2])", repr(str(ROOT)))
    (program / "train.py").write_text(text)
    monkeypatch.setattr(utils.seed_groups.members, "ROOT", program)

    def run(*words):
        return run_seeds(
            parse_train_args([*words, "--runs-dir", str(tmp_path / "runs")], environ={})
        )

    return run


def only_group(folder):
    (path,) = (folder / "runs" / "groups").iterdir()
    return RunGroup(path)


def statuses(group):
    return {seed: run.read_status()["status"] for seed, run in sorted(group.runs().items())}


def test_each_seed_has_a_run_and_all_of_them_a_result(seeds, tmp_path, capsys):
    assert seeds("CartPole-v1:ppo", "--seeds", "2,4,9", "--jobs", "2", "--set", "gamma=0.5") == 0
    group = only_group(tmp_path)
    assert statuses(group) == {2: "completed", 4: "completed", 9: "completed"}
    assert all(read_labels(run.path).group == group.id for run in list_runs(tmp_path / "runs"))
    assert {run.read_config_dict()["gamma"] for run in group.runs().values()} == {0.5}
    shown = capsys.readouterr()
    # mean (102 + 104 + 109) / 3 = 105; deviations -3, -1, 4: s = sqrt(13); 4.3027 * s / sqrt(3)
    assert "best    3 seeds: mean 105.00 ± 8.96 (95 %, Student's t), IQM 105.00 [" in shown.out
    assert "lowest 102.00, highest 109.00" in shown.out
    assert "seed 4: completed, test 104.00" in shown.err
    report = group.report_path.read_text()
    assert "# CartPole-v1:ppo, 3 seeds" in report
    assert "| 9 | completed | 109.00 | 109.00 | 100 | " in report
    (way_on,) = [line for line in report.splitlines() if "--resume" in line]
    assert f"--resume {group.id} --seeds 6x --runs-dir {tmp_path / 'runs'}   # more" in way_on
    assert (group.path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_quiet_prints_the_result_only(seeds, capsys):
    assert seeds("CartPole-v1:ppo", "--seeds", "2x", "-q", "--seed", "3") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert [line.split()[0] for line in shown.out.splitlines()[2:4]] == ["3", "4"]


def test_one_seed_is_not_taken_for_so_many(seeds, capsys):
    assert seeds("CartPole-v1:ppo", "--seeds", "5", "-q") == 0
    shown = capsys.readouterr()
    assert shown.err == "note: --seeds 5 is seed 5 alone; 5 seeds are --seeds 5x\n"
    assert "best    1 seed: mean 105.00" in shown.out
    assert seeds("CartPole-v1:ppo", "--seeds", "1x", "-q") == 0
    assert capsys.readouterr().err == ""


def test_one_that_fails_is_named_and_the_others_go_on(seeds, tmp_path, capsys):
    with pytest.raises(RunFailedError) as failed:
        seeds("CartPole-v1:ppo", "--seeds", "13,1,2", "--jobs", "1")
    first, second = str(failed.value).splitlines()
    group = only_group(tmp_path)
    assert first == "seed 13 failed: thirteen brings bad luck"
    assert second.startswith(
        f"when that is mended, go on with: python train.py --resume {group.id}"
    )
    assert statuses(group) == {1: "completed", 2: "completed", 13: "failed"}
    shown = capsys.readouterr()
    assert "best    2 seeds: mean 101.50" in shown.out
    assert "seed 13: failed: thirteen brings bad luck" in shown.err


def test_mistakes_are_told_before_anything_is_made(seeds, tmp_path):
    for words, expected in {
        ("CartPole-v1:ppo", "--seeds", "2x", "--set", "gama=1"): "unknown key 'gama'",
        ("--resume", "nothing", "--seeds", "2x"): "there is no such group of seeds",
    }.items():
        with pytest.raises(ConfigError, match=expected):
            seeds(*words)
    assert not (tmp_path / "runs").exists()


def interrupted_group(tmp_path, seeds):
    """Interrupt a group of seeds 1, 7 and 8 whose second one waits, one at a time."""

    stops = []

    def stop_when_it_waits(pool_look):
        def look():
            pool_look()
            if not stops and list((tmp_path / "runs").glob("*/waits")):
                stops.append(1)
                raise KeyboardInterrupt

        return look

    original = utils.seed_groups.session.JobPool.run

    def run(self, *, look, on_stop):
        original(self, look=stop_when_it_waits(look), on_stop=on_stop)

    utils.seed_groups.session.JobPool.run = run
    try:
        assert seeds("CartPole-v1:ppo", "--seeds", "1,7,8", "--jobs", "1") == 130
    finally:
        utils.seed_groups.session.JobPool.run = original
    return only_group(tmp_path)


def test_an_interrupt_saves_all_and_the_group_goes_on(seeds, tmp_path, capsys):
    group = interrupted_group(tmp_path, seeds)
    assert statuses(group) == {1: "completed", 7: "interrupted"}
    shown = capsys.readouterr()
    assert "stopping: every seed ends its epoch and saves" in shown.err
    assert f"go on with: python train.py --resume {group.id} --runs-dir" in shown.err
    waits = next((tmp_path / "runs").glob("*/waits"))
    before = {seed: run.path for seed, run in group.runs().items()}
    waits.unlink()
    assert seeds("--resume", group.id) == 0
    assert statuses(group) == {1: "completed", 7: "completed", 8: "completed"}
    after = {seed: run.path for seed, run in group.runs().items()}
    assert {seed: after[seed] for seed in before} == before  # the same runs went on
    assert "1 complete already" in capsys.readouterr().err
    assert seeds("--resume", str(group.path), "--seeds", "8,9") == 0
    assert sorted(group.runs()) == [1, 7, 8, 9]


def test_a_group_whose_settings_have_changed_is_refused(seeds, tmp_path, monkeypatch):
    group = interrupted_group(tmp_path, seeds)
    record = group.read_record()
    group.write_record(record | {"config": record["config"] | {"gamma": 0.123}})
    with pytest.raises(ConfigError, match="the settings have changed since this group began"):
        seeds("--resume", group.id)
    for words in (["--set", "max_timesteps=10"], ["--max-timesteps", "5"]):
        with pytest.raises(ConfigError, match="goes on with its own settings"):
            seeds("--resume", group.id, *words)


@pytest.mark.slow
def test_real_trainings_are_interrupted_and_go_on(tmp_path):
    """The whole way: train.py in a terminal's place, two real seeds, Ctrl-C, and the way back."""
    words = ["CartPole-v1:ppo", "--runs-dir", str(tmp_path / "runs"), "--jobs", "2"]
    words += ["--set", "video=none", "--set", "early_stop_on_eval_reward=false"]
    command = Command("train", *words, "--max-timesteps", "1e8", "--seeds", "1,2")
    while len(list((tmp_path / "runs").glob("2*/metrics.jsonl"))) < 2:
        assert command.poll() is None
    command.send(signal.SIGINT)
    finished = command.wait()
    assert finished.code == 130, finished.err
    assert processes_left(finished.session) == []
    group = only_group(tmp_path)
    assert statuses(group) == {1: "interrupted", 2: "interrupted"}
    assert all(run.has_checkpoint() for run in group.runs().values())
    assert f"--resume {group.id}" in finished.err
