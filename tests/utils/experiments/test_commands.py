"""The commands as a person gives them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.finished_runs import finished_run, seeds
from utils.config import SCHEMA_VERSION, load_config_json
from utils.errors import UserError
from utils.experiments.cli import COMMANDS, main
from utils.run import Labels, RunGroup, read_labels

ROOT = Path(__file__).resolve().parents[3]
STORED = ROOT / "tests" / "utils" / "config" / "migrations" / "stored"


@pytest.fixture
def runs_dir(tmp_path):
    folder = tmp_path / "runs"
    seeds(folder, [400.0, 500.0, 480.0], gamma=0.9)
    seeds(folder, [100.0, 300.0], variant="other", gamma=0.99)
    return folder


def run(capsys, runs_dir, *words):
    code = main([words[0], *words[1:], "--runs-dir", str(runs_dir)])
    assert code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    with pytest.raises(SystemExit) as left:
        main([name, "--help"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: experiments.py {name}")


def test_the_program_itself_loads_nothing_heavy():
    heavy = "torch", "matplotlib", "numpy", "lightning", "gymnasium"
    code = (
        "import sys, runpy; sys.argv = ['experiments.py', '--help']\n"
        "try: runpy.run_path('scripts/experiments.py', run_name='__main__')\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "usage: experiments.py COMMAND" in done.stdout
    assert done.stderr.strip() == "[]"


def test_list_sorts_and_chooses_columns(capsys, runs_dir):
    shown = run(
        capsys, runs_dir, "list", "variant=ppo", "--sort", "test", "--columns", "seed,test,gamma"
    )
    rows = [line.split() for line in shown.splitlines()]
    assert rows[0] == ["seed", "test", "gamma"]
    assert rows[2:5] == [["1", "500.00", "0.9"], ["2", "480.00", "0.9"], ["0", "400.00", "0.9"]]
    assert rows[5] == ["3", "runs"]
    shown = run(capsys, runs_dir, "list", "--sort", "test", "--ascending", "--limit", "1")
    assert "1 run, 4 more are not shown" in shown
    assert "100.00" in shown


def test_tags_and_notes(capsys, runs_dir):
    first = sorted(runs_dir.glob("2*"))[0]
    run(capsys, runs_dir, "tag", first.name, "--add", "paper", "--add", "keep")
    run(capsys, runs_dir, "tag", first.name, "--remove", "keep")
    run(capsys, runs_dir, "note", first.name, " look again ")
    assert read_labels(first) == Labels(tags=("paper",), note="look again")
    shown = run(capsys, runs_dir, "list", "tag=paper")
    assert "look again" in shown
    assert shown.splitlines()[-1] == "1 run"
    with pytest.raises(UserError, match="nothing to do"):
        run(capsys, runs_dir, "tag", first.name)


def test_compare_and_its_mistakes(capsys, runs_dir):
    shown = run(capsys, runs_dir, "compare", "env=CartPole-v1")
    assert "CartPole-v1:ppo > CartPole-v1:other" in shown
    with pytest.raises(UserError, match="none of the 5 runs"):
        run(capsys, runs_dir, "compare", "seed=99")
    with pytest.raises(UserError, match="no run has 'gama': did you mean 'gamma'"):
        run(capsys, runs_dir, "compare", "--by", "gama")


def test_a_value_that_no_run_has_is_told(capsys, runs_dir):
    words = ["variant=ppo,othr", "seed=0,1", "--runs-dir", str(runs_dir)]
    assert main(["list", *words]) == 0
    shown = capsys.readouterr()
    assert shown.out.endswith("2 runs\n")
    assert shown.err == f"note: no run in '{runs_dir}' has variant=othr\n"


def test_plots_are_written(capsys, runs_dir, tmp_path):
    run(capsys, runs_dir, "plot", "--out", str(tmp_path / "a" / "curves"))
    assert (tmp_path / "a" / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "a" / "curves.svg").read_bytes().startswith(b"<?xml")
    run(capsys, runs_dir, "plot", "--kind", "scores", "--out", str(tmp_path / "b.svg"))
    assert not (tmp_path / "b.png").exists()
    for words, expected in {
        ("--out", "x.pdf"): r"\.png, \.svg",
        ("--kind", "pie"): "unknown kind",
        ("--kind", "improvement", "variant=ppo"): "one method alone",
        ("--kind", "scores", "--curve", "x"): "--curve has no effect",
    }.items():
        with pytest.raises(UserError, match=expected):
            run(capsys, runs_dir, "plot", *words)


def test_exports_in_every_form(capsys, runs_dir, tmp_path):
    out = tmp_path / "deep" / "runs.csv"
    run(
        capsys, runs_dir, "export", "variant=ppo", "--out", str(out), "--columns", "seed,test,gamma"
    )
    rows = list(csv.DictReader(out.open()))
    assert sorted((row["seed"], float(row["test"]), row["gamma"]) for row in rows) == [
        ("0", 400.0, "0.9"),
        ("1", 500.0, "0.9"),
        ("2", 480.0, "0.9"),
    ]
    text = run(capsys, runs_dir, "export", "--what", "scores", "--format", "tex")
    assert text.count(r" \\") == 3
    assert r"460.00 \(\pm\)" in text
    text = run(capsys, runs_dir, "export", "--what", "scores", "--format", "md")
    assert "| CartPole-v1:ppo | 3 | 460.00 ± " in text
    text = run(
        capsys, runs_dir, "export", "seed=1", "variant=ppo", "--what", "curves", "--format", "csv"
    )
    assert [line.split(",")[-2:] for line in text.splitlines()[1:]] == [
        ["100", "125.0"],
        ["200", "250.0"],
        ["300", "500.0"],
    ]
    with pytest.raises(UserError, match="--format is missing"):
        run(capsys, runs_dir, "export")
    with pytest.raises(UserError, match="--by has no effect with --what runs"):
        run(capsys, runs_dir, "export", "--format", "csv", "--by", "algo")


def test_show_tells_a_run_and_a_group(capsys, runs_dir):
    group = RunGroup.create(
        runs_dir, config={"config_id": "CartPole-v1:ppo"}, seeds=[7], arguments=[]
    )
    made = finished_run(runs_dir, seed=7, test=321.0, labels=Labels(group=group.id, note="so far"))
    shown = run(capsys, runs_dir, "show", made.id)
    assert "CartPole-v1:ppo, seed 7" in shown
    assert "test, best policy  321.00" in shown
    assert "so far" in shown
    shown = run(capsys, runs_dir, "show", group.id)
    assert made.id in shown
    assert shown.startswith(f"group {group.id}")


def test_migrate_rewrites_with_a_backup(capsys, tmp_path):
    folders = {}
    for name in ("ppo", "dreamer", "sac"):
        folders[name] = tmp_path / f"20260101-000000-{name}"
        folders[name].mkdir()
        stored = (STORED / f"{name}.version_1.json").read_bytes()
        (folders[name] / "config.json").write_bytes(stored)
    before = {name: load_config_json(folder / "config.json") for name, folder in folders.items()}
    shown = run(capsys, tmp_path, "migrate", "--dry-run")
    assert f"3 of 3 runs would be migrated to version {SCHEMA_VERSION}" in shown
    assert json.loads((folders["ppo"] / "config.json").read_text())["schema_version"] == 1
    shown = run(capsys, tmp_path, "migrate")
    assert f"3 of 3 runs migrated to version {SCHEMA_VERSION}" in shown
    for name, folder in folders.items():
        stored = (STORED / f"{name}.version_1.json").read_bytes()
        assert (folder / "config.version_1.json").read_bytes() == stored
        assert json.loads((folder / "config.json").read_text())["schema_version"] == SCHEMA_VERSION
        assert load_config_json(folder / "config.json") == before[name]
    shown = run(capsys, tmp_path, "migrate")
    assert f"nothing to migrate: the configs of all 3 runs are of version {SCHEMA_VERSION}" in shown
    shown = run(capsys, tmp_path / "none", "migrate")
    assert f"nothing to migrate: there are no runs in '{tmp_path / 'none'}'" in shown


def test_a_config_that_cannot_be_migrated_is_told_and_the_others_are(capsys, tmp_path):
    for name, content in {
        "20260101-000001-a": '{"schema_version": 99}',
        "20260101-000000-b": (STORED / "ppo.version_1.json").read_text(),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(content)
    with pytest.raises(UserError, match="written by a newer program"):
        run(capsys, tmp_path, "migrate")
    assert (tmp_path / "20260101-000000-b" / "config.version_1.json").exists()


def test_mistakes_are_one_line(tmp_path):
    with pytest.raises(UserError, match=r"unknown command 'lst': did you mean 'list'"):
        main(["lst"])
    with pytest.raises(UserError, match="there is no folder"):
        main(["list", "--runs-dir", str(tmp_path / "none")])
    with pytest.raises(UserError, match="there is no run in"):
        main(["list", "--runs-dir", str(tmp_path)])
