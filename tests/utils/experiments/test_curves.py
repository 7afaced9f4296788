from tests.helpers.played_runs import make_config, make_run
from utils.experiments.curves import build_band, choose_common_axis, read_run_curve
from utils.loggers import JsonlWriter
from utils.metrics.axis import EPOCHS, TIMESTEPS

KEY = "val/roll/ep_rew_mean"


def run_of(folder, timesteps):
    run = make_run(folder, make_config(), states=[])
    writer = JsonlWriter(run.metrics_jsonl)
    for epoch, steps in enumerate(timesteps, 1):
        writer.write({KEY: 10.0 * epoch}, epoch=epoch, timesteps=steps)
    writer.close()
    return run


def test_runs_are_laid_over_what_goes_on_in_all_of_them(tmp_path):
    steady = run_of(tmp_path, [10, 20, 30, 40, 50])
    still = [run_of(tmp_path, [10, 10, 10, 10, n]) for n in (10, 20)]
    assert choose_common_axis([steady]) == TIMESTEPS
    assert choose_common_axis(still) == EPOCHS
    assert choose_common_axis([steady, *still]) == EPOCHS
    curves = [read_run_curve(run, KEY, over=EPOCHS.key) for run in still]
    band = build_band([curves])
    assert (band.timesteps[0], band.timesteps[-1]) == (1.0, 5.0)
    assert (band.value[0], band.value[-1]) == (10.0, 50.0)


def test_a_damaged_run_has_no_say(tmp_path):
    still, damaged = run_of(tmp_path, [10] * 5), run_of(tmp_path, [])
    damaged.metrics_jsonl.unlink(missing_ok=True)
    damaged.metrics_jsonl.mkdir()
    assert choose_common_axis([still, damaged]) == EPOCHS
