import pytest

from tests.helpers.played_runs import make_config, make_run
from utils.errors import CheckpointError, ConfigError, RunNotFoundError, UserError
from utils.playback import parse_play_args, plan_play


def plan(runs_dir, *arguments):
    return plan_play(parse_play_args([*arguments, "--runs-dir", str(runs_dir)]))


def test_the_best_checkpoint_of_the_newest_run_plays(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}, {}], best=1)
    found = plan(tmp_path)
    assert found.run.id == run.id
    assert found.checkpoint.name == "epoch=01.ckpt"
    assert found.checkpoint_name == "epoch=01"
    assert found.config == make_config()
    assert found.notes == ()


def test_without_a_best_one_the_last_plays_and_a_note_says_so(tmp_path):
    make_run(tmp_path, make_config(), states=[{}, {}], best=None)
    found = plan(tmp_path)
    assert found.checkpoint.name == "epoch=01.ckpt"
    assert found.notes == ("this run has no best checkpoint yet: its last one is used",)


def test_a_best_one_that_is_asked_for_by_name_must_exist(tmp_path):
    make_run(tmp_path, make_config(), best=None)
    with pytest.raises(CheckpointError, match="there are epoch=00"):
        plan(tmp_path, "--checkpoint", "@best")


def test_where_a_copy_has_lost_the_links_the_newest_plays(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}], best=0)
    for name in ("best", "last"):
        (run.checkpoints_dir / f"{name}.ckpt").unlink()
    found = plan(tmp_path, "--run-id", str(run.path))
    assert found.checkpoint.name == "epoch=01.ckpt"
    (note,) = found.notes
    assert note.endswith("the newest is used")
    for path in run.list_checkpoints():
        path.unlink()
    with pytest.raises(CheckpointError, match="it has none yet"):
        plan(tmp_path, "--run-id", str(run.path))


def test_where_a_copy_has_files_for_links_the_best_plays(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}], best=0)
    best = run.checkpoints_dir / "best.ckpt"
    content = best.read_bytes()
    best.unlink()
    best.write_bytes(content)
    found = plan(tmp_path)
    assert (found.checkpoint, found.checkpoint_name, found.notes) == (best, "best", ())


@pytest.mark.parametrize(
    "arguments",
    [
        ("--run-id", "@last/epoch=02"),
        ("--run-id", "@last/@last"),
        ("--checkpoint", "epoch=02"),
        ("--checkpoint", "epoch=02.ckpt"),
        ("--run-id", "@last/@last", "--checkpoint", "@last"),
    ],
)
def test_checkpoints_can_be_named_in_both_places(tmp_path, arguments):
    make_run(tmp_path, make_config(), states=[{}, {}, {}])
    assert plan(tmp_path, *arguments).checkpoint.name == "epoch=02.ckpt"


def test_two_different_checkpoints_are_a_mistake(tmp_path):
    make_run(tmp_path, make_config())
    with pytest.raises(UserError, match="two checkpoints"):
        plan(tmp_path, "--run-id", "@last/@best", "--checkpoint", "@last")


def test_a_run_can_be_named_by_its_path(tmp_path):
    run = make_run(tmp_path, make_config())
    assert plan(tmp_path / "elsewhere", "--run-id", f"{run.path}/").run.id == run.id


def test_actions_are_chosen_as_the_run_evaluates_unless_told(tmp_path):
    make_run(tmp_path, make_config(eval_deterministic=False))
    assert plan(tmp_path).is_deterministic is False
    assert plan(tmp_path, "--deterministic").is_deterministic is True


def test_a_run_trained_on_another_device_is_noted(tmp_path):
    run = make_run(tmp_path, make_config())
    run.write_environment_facts(device="cuda")
    assert plan(tmp_path).notes == ("trained on cuda, played on cpu",)


def test_missing_runs_and_broken_configs_are_named(tmp_path):
    with pytest.raises(RunNotFoundError, match="holds no runs"):
        plan(tmp_path, "--run-id", "nope")
    run = make_run(tmp_path, make_config())
    run.config_path.write_text('{"schema_version": 1, "algo_id": "ppo"}')
    with pytest.raises(ConfigError, match="missing key 'env_id'"):
        plan(tmp_path, "--run-id", run.id)


def test_seeds_that_do_not_fit_are_refused(tmp_path):
    make_run(tmp_path, make_config())
    with pytest.raises(UserError, match="seeds end at 2147483647"):
        plan(tmp_path, "--seed", "2147483647", "--episodes", "2")


def test_an_empty_repository_is_no_run(tmp_path):
    make_run(tmp_path, make_config())
    with pytest.raises(UserError, match="must be <user>/<name>"):
        plan(tmp_path, "--repo", "")
