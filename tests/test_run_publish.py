"""`run_publish.py` and `run_play.py --repo` as commands, with the real client, on the loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

import av
import pytest
import torch
import yaml

from tests.helpers.commands import ROOT, Command, error_lines
from tests.helpers.loopback_hub import (
    ORGANISATION,
    READ_TOKEN,
    USER,
    WRITE_TOKEN,
    LoopbackHub,
    Repository,
)
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of

pytest.importorskip("huggingface_hub")
pytest.importorskip("safetensors")

REPO = f"{USER}/CartPole-v1-ppo"
FILES = {"README.md", "config.json", "model.safetensors", "results.json", "replay.mp4"}


@pytest.fixture
def hub():
    with LoopbackHub() as server:
        yield server


@pytest.fixture
def environment(hub, tmp_path):
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": WRITE_TOKEN,
        "HF_HOME": str(tmp_path / "hf"),
        "HF_HUB_DISABLE_XET": "1",
    }


@pytest.fixture
def runs_dir(tmp_path):
    return tmp_path / "runs"


@pytest.fixture
def publish(environment, runs_dir):
    """Run `run_publish.py` on the newest run, with three episodes and no waiting."""

    def publish(*arguments, fault="impatient", **changes):
        options = ("--runs-dir", str(runs_dir), "--episodes", "3", *arguments)
        command = Command("run_publish", *options, fault=fault, environment=environment | changes)
        return command.wait()

    return publish


@pytest.fixture
def play(environment, runs_dir):
    def play(*arguments, fault="impatient", **changes):
        options = ("--runs-dir", str(runs_dir), *arguments)
        command = Command("run_play", *options, fault=fault, environment=environment | changes)
        return command.wait()

    return play


def make_cart_pole(runs_dir, **changes):
    """Make a run whose policy keeps the pole up for some steps, other ones for each seed."""

    def prepare(policy):
        policy.normalizer.update(torch.randn(200, 4) * torch.tensor([1.0, 2.0, 0.1, 2.0]))

    settings = {
        "env_id": "CartPole-v1",
        "config_id": "CartPole-v1:ppo",
        "normalize_obs": "rolling",
        "eval_deterministic": False,
    }
    config = make_config(**(settings | changes))
    return make_run(runs_dir, config, states=[state_of(config, prepare=prepare)])


def episode_rows(text):
    """Return (seed, return, length) of each episode that run_play.py told."""
    rows = re.findall(r"^ +\d+ +(\d+) +([-\d.,]+) +(\d+) ", text, flags=re.MULTILINE)
    return [(int(seed), float(value.replace(",", "")), int(n)) for seed, value, n in rows]


def card_parts(text):
    """Return the front matter of a card and its lines of shell."""
    _, matter, body = text.split("---\n", 2)
    (shell,) = re.findall(r"```bash\n(.*?)```", body, flags=re.DOTALL)
    return yaml.safe_load(matter), [line for line in shell.splitlines() if line[0] != "#"]


def test_what_is_published_plays_the_same_without_the_run(hub, publish, play, runs_dir):
    run = make_cart_pole(runs_dir)
    done = publish()
    assert (done.code, done.err) == (0, ""), done.err
    assert f"published {hub.endpoint}/{REPO}" in done.out
    repository = hub.repositories[REPO]
    assert repository.files.keys() == FILES | {".gitattributes"}
    assert not repository.is_private
    assert len(repository.commits) == 2

    before = play("--run-id", run.id, "--episodes", "5", "--seed", "7", "--render", "none")
    rows = episode_rows(before.out)
    assert len({length for _, _, length in rows}) > 1
    shutil.rmtree(runs_dir)

    # The lines of the card run as they are written; the first asks for the same episodes.
    results = json.loads(repository.files["results.json"])
    _, lines = card_parts(repository.files["README.md"].decode())
    watch, judge = (play(*arguments_of(line), "--render", "none") for line in lines)
    assert (watch.code, watch.err) == (judge.code, judge.err) == (0, "")
    assert episode_rows(watch.out) == rows
    assert f"{REPO}@{repository.head[:7]}" in watch.out
    assert before.out.splitlines()[1:] == watch.out.splitlines()[1:]
    assert [value for _, value, _ in episode_rows(judge.out)] == results["returns"]
    assert [seed for seed, _, _ in episode_rows(judge.out)] == results["seeds"]
    assert not runs_dir.exists()


def arguments_of(line):
    """Return the arguments in a line of a card that plays."""
    python, script, *arguments = shlex.split(line)
    assert (python, script) == ("python", "run_play.py")
    return arguments


def test_card_results_and_film_tell_the_same(hub, publish, runs_dir, tmp_path):
    make_cart_pole(runs_dir)
    assert publish().code == 0
    files = hub.repositories[REPO].files
    results = json.loads(files["results.json"])
    matter, _ = card_parts(files["README.md"].decode())
    assert results["n_eval_episodes"] == len(results["returns"]) == 3
    assert results["is_deterministic"] is False
    assert results["mean_reward"] == pytest.approx(sum(results["returns"]) / 3)
    assert results["versions"].keys() >= {"python", "torch", "gymnasium", "numpy"}
    assert {"CartPole-v1", "ppo", "reinforcement-learning", "deep-reinforcement-learning"} <= set(
        matter["tags"]
    )
    ((result,),) = (model["results"] for model in matter["model-index"])
    mean, std = result["metrics"][0]["value"].split(" +/- ")
    assert float(mean) == pytest.approx(results["mean_reward"], abs=0.005)
    assert float(std) == pytest.approx(results["std_reward"], abs=0.005)

    # The film shows the first of these episodes: one picture more than it has steps.
    film = tmp_path / "replay.mp4"
    film.write_bytes(files["replay.mp4"])
    with av.open(str(film)) as container:
        assert len(list(container.decode(video=0))) == results["lengths"][0] + 1
        assert container.streams.video[0].codec_context.name == "h264"


def test_a_second_time_makes_no_commit_and_stale_files_go_in_one(hub, publish, runs_dir):
    make_cart_pole(runs_dir)
    publish()
    repository = hub.repositories[REPO]
    again = publish()
    assert (again.code, again.err) == (0, "")
    assert "no commit was made" in again.out
    assert len(repository.commits) == 2

    # An ONNX model from an earlier time is ours and stale, notes are the owner's.
    repository.commit("by hand", repository.files | {"model.onnx": b"old", "notes.md": b"mine"})
    publish("--no-video")
    assert repository.files.keys() == FILES - {"replay.mp4"} | {".gitattributes", "notes.md"}
    assert len(repository.commits) == 4


@pytest.mark.slow
def test_an_onnx_model_runs_by_the_lines_of_the_card(hub, publish, environment, runs_dir):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    make_cart_pole(runs_dir, policy_kwargs={"memory": "gru", "hidden_dims": [4]})
    done = publish("--onnx", "--no-video")
    assert (done.code, done.err) == (0, "")
    files = hub.repositories[REPO].files
    assert str(ROOT).encode() not in files["model.onnx"]
    (code,) = re.findall(r"```python\n(.*?)```", files["README.md"].decode(), flags=re.DOTALL)
    ran = subprocess.run(
        [sys.executable, "-c", code + 'print(outputs["next_state"].shape)\n'],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"\[[01]\]\n\(1, 128\)\n", ran.stdout)


REFUSED = {
    "no token": ({"HF_TOKEN": ""}, (), "hf auth login"),
    "bad token": ({"HF_TOKEN": "hf_wrong"}, (), "not accepted (401)"),
    "read token": ({"HF_TOKEN": READ_TOKEN}, (), "no right to do that (403)"),
    "namespace": ({}, ("--repo-id", "bob/CartPole"), 'write under "bob"'),
    "offline": ({"HF_HUB_OFFLINE": "1"}, (), "HF_HUB_OFFLINE is set"),
    "no network": ({"HF_ENDPOINT": "http://127.0.0.1:9"}, (), "Connection refused (4 attempts)"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_who_may_not_publish_is_told_in_one_line(hub, publish, runs_dir, case):
    changes, arguments, message = REFUSED[case]
    make_cart_pole(runs_dir)
    done = publish(*arguments, "--no-video", **changes)
    assert done.code == 2
    (line,) = error_lines(done)
    assert line.startswith("error: ")
    assert message in line
    assert not hub.repositories


@pytest.mark.parametrize(
    "request_",
    [
        "POST /api/validate-yaml",
        "/commit/",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("preupload", "/large/")),
    ],
)
def test_a_server_that_dies_in_the_middle_is_told_in_one_line(hub, publish, runs_dir, request_):
    make_cart_pole(runs_dir)
    hub.death = request_
    done = publish("--no-video")
    assert done.code == 2
    (line,) = error_lines(done)
    assert f"cannot upload to {hub.endpoint}/{REPO}: no answer" in line
    assert "may be left there, empty" in line
    assert hub.repositories[REPO].summaries == ["initial commit"]


def test_a_server_that_recovers_gets_it_all(hub, publish, runs_dir):
    make_cart_pole(runs_dir)
    hub.fail("GET /api/whoami", 503)
    hub.fail("POST /api/repos/create", 500)
    hub.fail("/commit/", 503)
    hub.fail("/commit/", 412)  # another commit has come in between
    done = publish("--no-video")
    assert (done.code, done.err) == (0, "")
    assert len(hub.repositories[REPO].commits) == 2


def test_a_server_that_stays_ill_is_left_as_it_was(hub, publish, runs_dir):
    make_cart_pole(runs_dir)
    hub.fail("/commit/", 503, times=100)
    done = publish("--no-video")
    assert done.code == 2
    (line,) = error_lines(done)
    assert "the Hub answered 503: arranged by the test (4 attempts)" in line
    assert "nothing is left of it there" in line
    assert not hub.repositories
    assert sum("/commit/" in request for request in hub.requests) == 4


def test_a_repository_that_was_there_is_not_removed(hub, publish, runs_dir):
    make_cart_pole(runs_dir)
    publish("--no-video")
    hub.fail("/commit/", 503, times=100)
    done = publish("--no-video", "--seed", "1")
    assert done.code == 2
    assert len(hub.repositories[REPO].commits) == 2


def test_a_model_of_another_program_is_not_overwritten(hub, publish, runs_dir):
    make_cart_pole(runs_dir)
    repository = hub.repositories[f"{USER}/bert"] = Repository(is_private=False)
    repository.commit("by hand", {"README.md": b"---\nlicense: mit\n---\n", "config.json": b"{}"})
    done = publish("--no-video", "--repo-id", f"{USER}/bert")
    assert done.code == 2
    (line,) = error_lines(done)
    assert "holds the config.json of another program" in line
    assert len(repository.commits) == 1

    # One that was made by hand, with nothing but a first card, is filled.
    repository.commit("by hand", {"README.md": b"---\nlicense: mit\n---\n"})
    assert publish("--no-video", "--repo-id", f"{USER}/bert").code == 0
    assert len(repository.commits) == 3


def test_private_stays_private(hub, publish, play, runs_dir):
    make_cart_pole(runs_dir)
    assert publish("--private", "--no-video", "--repo-id", f"{ORGANISATION}/secret").code == 0
    assert hub.repositories[f"{ORGANISATION}/secret"].is_private
    stranger = play("--repo", f"{ORGANISATION}/secret", "--render", "none", HF_TOKEN="")
    assert stranger.code == 2
    (line,) = error_lines(stranger)
    assert "no such repository, or it is private" in line

    assert publish("--no-video").code == 0
    refused = publish("--no-video", "--private", "--seed", "1")
    assert refused.code == 2
    assert "is public: make it private there" in refused.err
    assert len(hub.repositories[REPO].commits) == 2


def test_a_dry_run_writes_the_folder_and_sends_nothing(hub, publish, runs_dir):
    run = make_cart_pole(runs_dir)
    done = publish("--dry-run", HF_TOKEN="")
    assert (done.code, done.err) == (0, "")
    folder = run.path / "publish"
    assert {path.name for path in folder.iterdir()} == FILES
    for path in folder.iterdir():
        assert re.search(rf"^  {re.escape(path.name)} +[\d.]+ (B|kB|MB)$", done.out, re.MULTILINE)
    assert "nothing was sent" in done.out
    assert hub.requests == []

    private = publish("--dry-run", "--no-video", "--private")
    assert private.code == 0
    assert f"to be the private repository your-name/{run.id[16:]}; nothing was sent" in private.out
    assert {path.name for path in folder.iterdir()} == FILES - {"replay.mp4"}
    (folder / "diary.txt").write_text("mine")
    refused = publish("--dry-run")
    assert refused.code == 2
    assert "holds 'diary.txt'" in refused.err
    assert sorted(path.name for path in run.path.iterdir()) == [
        "checkpoints",
        "config.json",
        "publish",
    ]


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"]
)
def test_a_publication_that_is_ended_leaves_nothing(hub, runs_dir, environment, number, code):
    run = make_cart_pole(runs_dir)
    options = ("--runs-dir", str(runs_dir), "--episodes", "100000", "--dry-run")
    command = Command("run_publish", *options, environment=environment)
    deadline = time.monotonic() + 300.0
    while not list(run.path.glob(".publish-*")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    command.send(number)
    finished = command.wait()
    assert (finished.code, "Traceback" in finished.err) == (code, False), finished.err
    assert sorted(path.name for path in run.path.iterdir()) == ["checkpoints", "config.json"]


def test_only_the_files_of_the_list_leave_and_no_path_of_a_home_folder(hub, publish, runs_dir):
    home = "/home/" + "ann"
    run = make_cart_pole(
        runs_dir, description=f"with the map of {home}/maps", wandb_project="/Users/" + "bob/x"
    )
    for name in (".env", "run.log", "notes.txt", "wandb/debug.log", "checkpoints/epoch=99.ckpt"):
        path = run.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(WRITE_TOKEN)
    (run.path / "replay.mp4").symlink_to("/etc/passwd")
    done = publish()
    assert done.code == 0, done.err
    assert "note: config.json: 'description' held a path of a home folder" in done.out
    files = hub.repositories[REPO].files
    assert files.keys() == FILES | {".gitattributes"}
    assert json.loads(files["config.json"])["description"] == "with the map of ~/maps"
    for name, content in files.items():
        assert WRITE_TOKEN.encode() not in content, name
        assert home.encode() not in content, name
        assert b"/Users/" not in content, name
        assert str(runs_dir).encode() not in content, name


def test_a_token_in_the_config_is_not_published(hub, publish, runs_dir):
    make_cart_pole(runs_dir, description=f"my token is {WRITE_TOKEN}")
    done = publish("--no-video")
    assert done.code == 2
    (line,) = error_lines(done)
    assert "config.json would hold a token" in line
    assert WRITE_TOKEN not in line
    assert not hub.repositories


def test_without_a_film_it_stops_unless_that_was_asked_for(hub, publish, runs_dir):
    config = make_config(env_id="tests.helpers.space_envs:Drawn-v0", config_id="Drawn-v0:ppo")
    make_run(runs_dir, config, states=[state_of(config)])
    refused = publish()
    assert refused.code == 2
    (line,) = error_lines(refused)
    assert "no film" in line
    assert "--no-video publishes without one" in line
    assert not hub.repositories
    done = publish("--no-video")
    assert (done.code, done.err) == (0, "")
    files = hub.repositories[f"{USER}/Drawn-v0-ppo"].files
    assert files.keys() == FILES - {"replay.mp4"} | {".gitattributes"}
    assert "There is no video of it." in files["README.md"].decode()
    assert b"replay.mp4" not in files["README.md"]


def test_raw_returns_of_the_policy_that_was_asked_for(hub, publish, runs_dir):
    config = make_config(
        env_id="tests.helpers.envs:RewardList-v0",
        env_wrappers=[{"id": "ClipReward", "low": -1.0, "high": 1.0}],
    )
    make_run(runs_dir, config, states=[state_of(config)])
    for option, is_deterministic in (("--deterministic", True), ("--sampled", False)):
        done = publish("--no-video", option)
        assert done.code == 0, done.err
        files = hub.repositories[f"{USER}/RewardList-v0-ppo"].files
        results = json.loads(files["results.json"])
        assert results["returns"] == [7.0, 7.0, 7.0]  # 5 + 5 - 3, not 1 + 1 - 1
        assert results["is_deterministic"] is is_deterministic
        assert f"--seed {results['seeds'][0]} {option} " in files["README.md"].decode()


def test_weights_that_are_not_finite_are_refused(hub, publish, runs_dir):
    config = make_config()
    state = state_of(config)
    state["policy"]["actor_head.bias"][0] = float("nan")
    make_run(runs_dir, config, states=[state])
    done = publish("--no-video")
    assert done.code == 2
    (line,) = error_lines(done)
    assert "not finite (actor_head.bias)" in line
    assert not hub.repositories


def test_a_missing_package_is_told_with_its_extra(publish, play, runs_dir):
    run = make_cart_pole(runs_dir)
    for package in ("huggingface_hub", "safetensors"):
        done = publish(fault=f"without:{package}")
        assert done.code == 2
        assert f"needs the package '{package}'" in done.err
        assert "gymnasium-solver[hub]" in done.err
    assert "gymnasium-solver[onnx]" in publish("--onnx", fault="without:onnxscript").err
    assert "gymnasium-solver[hub]" in play("--repo", REPO, fault="without:huggingface_hub").err
    own = ("--run-id", run.id, "--render", "none", "--episodes", "1")
    assert play(*own, fault="without:huggingface_hub").code == 0


def test_a_repository_is_refused_where_it_is_not_what_it_says(hub, publish, play, runs_dir):
    make_cart_pole(runs_dir)
    publish("--no-video")
    repository = hub.repositories[REPO]
    first = repository.head
    good = repository.files

    def refusal(*arguments):
        done = play("--repo", *arguments, "--render", "none", "--episodes", "1")
        assert done.code == 2
        (line,) = error_lines(done)
        return line

    settings = json.loads(good["config.json"])
    changed = json.dumps(settings | {"frame_stack": 2}).encode()
    repository.commit("another space", good | {"config.json": changed})
    line = refusal(REPO)
    assert "box(4)" in line
    assert "box(8)" in line

    mark = runs_dir / "ran"
    pickled = b"cos\nsystem\n(S'touch " + str(mark).encode() + b"'\ntR."
    repository.commit("a pickle", good | {"model.safetensors": pickled})
    assert "not safetensors" in refusal(REPO)
    assert not mark.exists()

    repository.commit("no config", {"model.safetensors": good["model.safetensors"]})
    assert "config.json" in refusal(REPO)
    assert "must be <user>/<name>" in refusal("CartPole")
    assert "no such repository" in refusal(f"{USER}/nothing")
    assert "--checkpoint has no effect with --repo" in refusal(REPO, "--checkpoint", "@last")

    # A commit names the policy that it held, whatever came later.
    done = play("--repo", f"{REPO}@{first}", "--render", "none", "--episodes", "1")
    assert done.code == 0, done.err
