import json

from tests.helpers.played_runs import make_config, make_run
from utils.inspection.curves import curves_value
from utils.storage import write_json

ROWS = """\
epoch,timesteps,train/roll/ep_rew_mean,train/loss/total,train/cnt/updates,val/roll/ep_rew_mean
1,64,5.0,0.5,4,
2,128,,nan,8,
3,192,7.5,0.25,12,9.0
4,2"""


def test_each_metric_has_its_points_where_there_is_a_value(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}])
    run.metrics_csv.write_text(ROWS)
    write_json(run.checkpoints_dir / "epoch=01.json", {"counters": {"timesteps": 128}})
    value = curves_value(run)
    assert value["axis"] == "timesteps"
    curves = {curve["key"]: (curve["x"], curve["y"]) for curve in value["curves"]}
    assert curves == {
        "val/roll/ep_rew_mean": ([192.0], [9.0]),
        "train/roll/ep_rew_mean": ([64.0, 192.0], [5.0, 7.5]),
        "train/loss/total": ([64.0, 192.0], [0.5, 0.25]),
    }
    # What people look at first comes first, each in the order of config/metrics.yaml.
    assert next(iter(curves)) == "val/roll/ep_rew_mean"
    assert value["curves"][0]["is_first"]
    assert not value["curves"][-1]["is_first"]
    assert value["curves"][0]["description"]
    assert value["marks"] == [{"name": "epoch=01", "x": 128}]
    json.dumps(value, allow_nan=False)


def test_curves_and_marks_are_over_epochs_where_timesteps_stand_still(tmp_path):
    run = make_run(tmp_path, make_config(), states=[{}, {}])
    lines = "\n".join(f"{k},64,{10 * min(k, 2)},{k}" for k in range(1, 7))
    run.metrics_csv.write_text(f"epoch,timesteps,train/cnt/updates,train/vae/explained\n{lines}\n")
    write_json(run.checkpoints_dir / "epoch=01.json", {"counters": {"timesteps": 64, "epoch": 1}})
    value = curves_value(run)
    assert value["axis"] == "epochs"
    (curve,) = value["curves"]
    assert curve["x"] == curve["y"] == [1, 2, 3, 4, 5, 6]
    assert value["marks"] == [{"name": "epoch=01", "x": 1}]


def test_every_loss_of_a_world_model_is_looked_at_first(tmp_path):
    run = make_run(tmp_path, make_config())
    run.metrics_csv.write_text(
        "epoch,timesteps,train/loss/vector,train/world_model/divergence,train/hp/policy_lr\n"
        "1,64,0.5,1.0,0.1\n"
    )
    curves = curves_value(run)["curves"]
    first = [curve["key"] for curve in curves if curve["is_first"]]
    assert first == ["train/world_model/divergence", "train/loss/vector"]


def test_a_run_without_metrics_has_no_curves(tmp_path):
    assert curves_value(make_run(tmp_path, make_config()))["curves"] == []


def test_long_curves_are_thinned(tmp_path):
    run = make_run(tmp_path, make_config())
    lines = "\n".join(f"{k},{k * 10},{k}" for k in range(1, 4001))
    run.metrics_csv.write_text(f"epoch,timesteps,train/loss/total\n{lines}\n")
    (curve,) = curves_value(run)["curves"]
    assert 1000 < len(curve["x"]) <= 1500


def test_bytes_that_are_no_text_cost_their_row_only(tmp_path):
    run = make_run(tmp_path, make_config())
    run.metrics_csv.write_bytes(
        b"epoch,timesteps,train/loss/total\n1,100,0.5\n2,200,\xff\xfe\x00\n3,300,0.25\n"
    )
    (curve,) = curves_value(run)["curves"]
    assert (curve["x"], curve["y"]) == ([100, 300], [0.5, 0.25])
