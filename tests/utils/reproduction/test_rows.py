import pytest

from utils.config import load_config
from utils.config.spec import SpecConfig
from utils.errors import ConfigError
from utils.reproduction import Entry, Published, summarize
from utils.reproduction.page import write_page
from utils.reproduction.rows import HEADER, Row, make_row, merge_rows, read_rows

FACT = {
    "processor": "Some CPU",
    "usable_cores": 2,
    "torch_threads": 1,
    "device": "cpu",
    "python": "3.11.7",
    "packages": {"torch": "2.9", "gymnasium": "1.2", "orjson": "3.0"},
}
CARTPOLE = Entry("CartPole-v1:ppo", 2, 475.0, (Published("RL Zoo", 500.0, 0.0, "100k"),))


def result(seed, mean, n_unfinished=0, regret=0.0):
    test = {
        "returns": [mean] * 4,
        "n_unfinished": n_unfinished,
        "metrics": {"regret": regret},
    }
    return {
        "seed": seed,
        "timesteps": 20_000,
        "process_seconds": 8.0,
        "training_seconds": 7.0,
        "test": {"best": test, "last": test},
    }


def row(config_id, text="x", machine="a machine"):
    return Row((config_id, *[text] * (len(HEADER) - 2)), (machine,))


def test_a_row_has_its_numbers_beside_those_of_others():
    # Two seeds: s = 30 / sqrt(2), t(0.975, 1) = 12.7062, so +- 12.7062 * 15 = 190.59.
    found = make_row(CARTPOLE, summarize([result(1, 500.0), result(2, 470.0)]), [FACT, dict(FACT)])
    assert dict(zip(HEADER, found.cells, strict=False)) == {
        "config": "CartPole-v1:ppo",
        "measure": "return",
        "seeds": "1 to 2",
        "best policy": "485.00 ± 190.59",
        "last policy": "485.00 ± 190.59",
        "worst seed": "470.00",
        "solved at": "475",
        "goal": "475",
        "reached": "1/2",
        "others": "RL Zoo 500 ± 0 (100k)",
        "episodes": "4",
        "timesteps": "20,000",
        "wall time": "8 s",
    }
    assert found.machines == (
        "Some CPU, 2 cores, 1 torch thread(s); Python 3.11.7, torch 2.9, gymnasium 1.2",
    )


def test_where_the_last_policy_is_asked_the_goal_and_the_worst_seed_are_of_it():
    results = [result(1, 500.0), result(2, 470.0)]
    for item, last in zip(results, (460.0, 480.0), strict=True):
        item["test"]["last"] = item["test"]["last"] | {"returns": [last] * 4}
    entry = Entry("CartPole-v1:ppo", 2, 475.0, judged="last")
    found = dict(zip(HEADER, make_row(entry, summarize(results), [FACT]).cells, strict=False))
    assert (found["goal"], found["reached"]) == ("475 (last)", "1/2")
    assert (found["worst seed"], found["best policy"][:6]) == ("460.00", "485.00")


def test_a_device_other_than_the_cpu_is_named():
    found = make_row(CARTPOLE, summarize([result(1, 500.0)]), [FACT | {"device": "cuda"}])
    assert found.machines[0].startswith("Some CPU, 2 cores, 1 torch thread(s), device cuda; ")


def test_of_a_metric_the_highest_seed_is_the_worst():
    entry = Entry("Bandit-Gaussian-v0:ppo", 2, 42.0, metric="regret")
    results = [result(1, 0.0, regret=40.0), result(4, 0.0, regret=43.0)]
    cells = dict(
        zip(HEADER, make_row(entry, summarize(results, "regret"), [FACT]).cells, strict=False)
    )
    assert (cells["measure"], cells["worst seed"], cells["reached"]) == ("regret", "43.00", "1/2")
    assert (cells["seeds"], cells["solved at"], cells["others"]) == ("1, 4", "-", "-")


def test_where_the_config_names_no_threshold_the_environments_own_is_shown(monkeypatch):
    def load(config_id):
        return load_config(config_id).model_copy(update={"spec": SpecConfig()})

    monkeypatch.setattr("utils.reproduction.rows.load_config", load)
    found = make_row(CARTPOLE, summarize([result(1, 500.0)]), [FACT])
    assert found.cells[HEADER.index("solved at")] == "475"  # of gymnasium's registry


def test_unfinished_episodes_are_told():
    found = make_row(CARTPOLE, summarize([result(1, 500.0, n_unfinished=3)]), [FACT])
    assert found.cells[HEADER.index("episodes")] == "7 (6 unfinished)"


def test_a_page_is_read_back_as_it_was_written():
    rows = [row("CartPole-v1:ppo"), row("Taxi-v4:ppo", "y", "another")]
    assert read_rows(write_page(rows)) == rows
    assert read_rows("") == []


def test_a_new_row_takes_the_place_of_the_old_one_and_the_rest_stays():
    kept = [row("Taxi-v4:ppo", "old"), row("CartPole-v1:ppo", "old"), row("Gone-v0:ppo", "old")]
    merged = merge_rows(kept, [row("Taxi-v4:ppo", "new"), row("Acrobot-v1:ppo", "new")])
    assert [(item.config_id, item.cells[1]) for item in merged] == [
        ("CartPole-v1:ppo", "old"),
        ("Acrobot-v1:ppo", "new"),
        ("Taxi-v4:ppo", "new"),
    ]


def test_a_page_of_other_columns_is_refused():
    text = write_page([row("CartPole-v1:ppo")]).replace("wall time", "hours", 1)
    with pytest.raises(ConfigError, match="other columns"):
        read_rows(text)
