from tests.helpers.played_runs import make_config
from utils.config.algos.phases import PhaseConfig
from utils.reports import sections
from utils.rollouts import EvaluationResult


def result(returns, *, n_unfinished=0, is_deterministic=True):
    return EvaluationResult(
        returns=returns,
        lengths=[10 * (k + 1) for k in range(len(returns))],
        n_unfinished=n_unfinished,
        seconds=1.0,
        seed=77,
        is_deterministic=is_deterministic,
    )


def test_cells_cannot_break_the_table():
    table = sections.markdown_table(("a", "b"), [("x|y", "1\n2")])
    assert table.splitlines() == ["| a | b |", "| --- | --- |", "| x\\|y | 1 2 |"]


def test_results_show_interval_range_and_seeds():
    best = result([400.0, 500.0])
    text = sections.result_section(
        {"best": best, "last": result([100.0, 300.0])},
        checkpoints={"best": "epoch=20.ckpt", "last": "epoch=30.ckpt"},
        solved_threshold=475.0,
        stop_threshold=490.0,
    )
    half_width = best.confidence_half_width()
    assert (
        f"| **best** | 450.00 ± {half_width:,.2f} | 400.00 | 500.00 | 15.0 "
        "| [epoch=20.ckpt](checkpoints/epoch%3D20.ckpt) |"
    ) in text
    assert "| **last** | 200.00 ±" in text
    assert "the same 2 fresh episodes of the test stream (seeds from 77 on" in text
    assert "with most likely actions" in text
    assert "solved at a mean return of 475" in text


def test_equal_policies_are_one_row():
    same = result([1.0, 2.0], is_deterministic=False)
    text = sections.result_section(
        {"best": same, "last": same},
        checkpoints={"best": "a", "last": "a"},
        solved_threshold=None,
        stop_threshold=None,
    )
    assert "| **best and last** |" in text
    assert text.count("1.50") == 1
    assert "sampled actions" in text
    assert "solved" not in text


def test_unfinished_episodes_are_not_hidden():
    some = {"best": result([1.0, 2.0], n_unfinished=3), "last": result([], n_unfinished=5)}
    text = sections.result_section(some, checkpoints={}, solved_threshold=None, stop_threshold=None)
    assert "no mean:** best 3, last 5." in text
    assert "no episode finished" in text
    assert "the same 5 fresh episodes" in text
    assert "`test_episodes: 0`" in sections.result_section(
        {}, checkpoints={}, solved_threshold=None, stop_threshold=None
    )


def alert(epoch, value, **changes):
    return {
        "key": "train/ppo/approx_kl",
        "value": value,
        "epoch": epoch,
        "bound": "above 0.05",
        "message": "the policy changes too much",
        "causes": ["policy_lr too high", "n_epochs too high"],
        "fixes": ["lower policy_lr"],
        **changes,
    }


def test_alerts_are_listed_once_per_kind():
    alerts = [alert(3, 0.06), alert(9, 0.071), alert(5, 1e-9, key="train/grad/norm", fixes=[])]
    assert sections.alert_section(alerts).splitlines() == [
        "- **the policy changes too much** (2 times, epochs 3 to 9): "
        "`train/ppo/approx_kl` was 0.071, above 0.05",
        "  - likely: policy_lr too high; n_epochs too high",
        "  - try: lower policy_lr",
        "- **the policy changes too much** (epoch 5): `train/grad/norm` was 1e-09, above 0.05",
        "  - likely: policy_lr too high; n_epochs too high",
    ]
    assert sections.alert_section([]).startswith("None")


def test_chosen_settings_come_first_with_their_defaults():
    config = make_config(
        gamma=0.9,
        max_timesteps=100_000,
        policy_lr={"start": 0.001, "end": 0.0},
        policy_kwargs={"hidden_dims": [32]},
        env_kwargs={"length": 5},
        clip_range_vf=0.2,
        normalize_reward=True,
    )
    chosen, everything = sections.settings_section(config).split("<details>")
    for line in (
        "| `gamma` | 0.9 | 0.99 |",
        "| `max_timesteps` | 100,000 |  |",
        "| `policy_lr` | 0.001 → 0 |  |",
        "| `policy_kwargs.hidden_dims` | [32] | [64, 64] |",
        "| `env_kwargs` | {length: 5} | {} |",
        "| `clip_range_vf` | 0.2 | null |",
        "| `normalize_reward` | true | false |",
    ):
        assert line in chosen
    assert "gae_lambda" not in chosen
    assert "| `gae_lambda` | 0.95 |" in everything
    assert "| `policy_kwargs.activation` | tanh |" in everything


def test_no_setting_is_written_as_python_writes_it():
    phases = (
        PhaseConfig(
            name="collect", type="online", hooks=("collect",), duration={"timesteps": 16_000}
        ),
        PhaseConfig(name="play", type="online", hooks=("collect", "evolve")),
    )
    wrappers = [{"id": "FrameSkip", "skip": 4}, {"id": "TimeFeature"}]
    for value, text in (
        (
            phases,
            "collect (online, 16,000 timesteps: collect), "
            "play (online, to the end: collect, evolve)",
        ),
        (wrappers, "FrameSkip(skip=4), TimeFeature()"),
        (tuple(wrappers[:1]), "FrameSkip(skip=4)"),
        ({"a": None, "b": [True, 1e-5], "c": {"d": "e"}}, "{a: null, b: [true, 1e-05], c: {d: e}}"),
        ((), "[]"),
        ({"max_frames": 108_000, "sizes": (20_000, 7)}, "{max_frames: 108000, sizes: [20000, 7]}"),
        (((1, 2), (3, 4)), "[[1, 2], [3, 4]]"),
    ):
        assert sections.format_setting(value) == text


def test_a_schedule_over_a_part_of_the_run_says_so():
    config = make_config(ent_coef={"start": 0.01, "end": 0.0, "from": 0.25, "to": 0.5})
    assert "| `ent_coef` | 0.01 → 0 (from 0.25 to 0.5) | 0 |" in sections.settings_section(config)


def test_the_time_is_split_into_its_parts():
    rows = [
        {
            "timesteps": 100 * k,
            "train/time/elapsed_seconds": 5.0 * k,
            "train/time/rollout_seconds": 1.0,
            "train/time/update_seconds": 2.0,
        }
        for k in (1, 2)
    ]
    rows[1]["val/time/seconds"] = 1.0
    text = sections.speed_section(rows)
    assert text.startswith("20 timesteps per second, 0:10 of training.")
    # 10 s in all: 2 collecting, 4 learning, 1 evaluating, 3 left.
    assert "| collecting rollouts | 2.00 | 20.0% |" in text
    assert "| learning from them | 4.00 | 40.0% |" in text
    assert "| evaluation | 1.00 | 10.0% |" in text
    assert "| everything else (metrics, checkpoints, videos) | 3.00 | 30.0% |" in text
    assert sections.speed_section([]) == "No epoch was completed."


def test_the_machine_is_that_of_the_last_process():
    facts = {
        "processor": "Some CPU",
        "usable_cores": 2,
        "device": "cpu",
        "torch_threads": 1,
        "python": "3.12.1",
        "packages": {"torch": "2.9"},
        "git_commit": "0123456789abcdef",
        "git_has_changes": True,
    }
    text = sections.machine_section([{"device": "cuda"}, facts])
    assert "| processor | Some CPU, 2 usable cores |" in text
    assert "| device | cpu |" in text
    assert "| torch | 2.9 |" in text
    assert "| commit | `0123456789ab` with uncommitted changes |" in text
    assert "| processes | 2: the run was resumed |" in text
    assert "system" not in text
    assert sections.machine_section([]) == "Not recorded."


def commands(**changes):
    options = {
        "run_id": "r1",
        "runs_dir": "runs",
        "config_id": "A:ppo",
        "checkpoints": ["best", "last"],
        "is_resumable": True,
        "more_timesteps": None,
    }
    return sections.command_section(**(options | changes))


def test_commands_name_the_run_and_its_folder():
    text = commands()
    assert "python run_play.py --run-id r1  " in text
    assert "python run_play.py --run-id r1/@last" in text
    assert "python train.py --resume r1 " in text
    assert "--max-timesteps" not in text
    assert "python train.py A:ppo --init-from-run r1" in text
    text = commands(runs_dir="else where", more_timesteps=2000)
    assert "python train.py --resume r1 --max-timesteps 2000 --runs-dir 'else where'" in text
    assert text.count("--runs-dir 'else where'") == 4


def test_no_command_is_told_that_would_be_refused():
    text = commands(is_resumable=False, more_timesteps=2000)
    assert "--resume" not in text
    assert "python train.py A:ppo --init-from-run r1 " in text
    text = commands(checkpoints=["last"])
    assert "--run-id r1 " not in text
    assert "--init-from-run r1/@last" in text
    assert "python" not in commands(checkpoints=[])
