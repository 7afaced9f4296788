from utils.config import load_config
from utils.config.spec import SpecConfig
from utils.reproduction import Entry, Published, summarize
from utils.reproduction.page import write_page

FACT = {
    "processor": "Some CPU",
    "usable_cores": 2,
    "torch_threads": 1,
    "python": "3.11.7",
    "packages": {"torch": "2.9", "gymnasium": "1.2", "orjson": "3.0"},
}


def result(seed, mean, n_unfinished=0):
    test = {"returns": [mean] * 4, "n_unfinished": n_unfinished}
    return {
        "seed": seed,
        "timesteps": 20_000,
        "process_seconds": 8.0,
        "test": {"best": test, "last": test},
    }


def page(n_unfinished=0, **options):
    entry = Entry("CartPole-v1:ppo", 2, 475.0, (Published("RL Zoo", 500.0, 0.0, "100k"),))
    other = Entry("Taxi-v4:ppo", 2, None, remark="it was rained upon.")
    rows = [
        (entry, summarize([result(1, 500.0, n_unfinished), result(2, 470.0, n_unfinished)])),
        (other, summarize([result(1, 7.5)])),
    ]
    return write_page(rows, [FACT, dict(FACT)], **{"first_seed": 101, **options})


def test_a_row_has_its_numbers_beside_the_published_ones():
    # Two seeds: s = 30 / sqrt(2), t(0.975, 1) = 12.7062, so +- 12.7062 * 15 = 190.59.
    line = next(line for line in page().splitlines() if line.startswith("| CartPole"))
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "CartPole-v1:ppo",
        "2",
        "485.00 ± 190.59",
        "485.00 ± 190.59",
        "470.00",
        "475",
        "475",
        "1/2",
        "RL Zoo 500 ± 0 (100k)",
        "20,000",
        "8 s",
    ]


def test_where_the_config_names_no_threshold_the_environments_own_is_shown(monkeypatch):
    def load(config_id):
        return load_config(config_id).model_copy(update={"spec": SpecConfig()})

    monkeypatch.setattr("utils.reproduction.page.load_config", load)
    line = next(line for line in page().splitlines() if line.startswith("| CartPole"))
    assert line.split("|")[6].strip() == "475"  # of gymnasium's registry


def test_a_row_without_goal_and_figure_shows_dashes():
    line = next(line for line in page().splitlines() if line.startswith("| Taxi"))
    assert [cell.strip() for cell in line.strip("|").split("|")][6:9] == ["-", "-", "-"]


def test_sources_are_explained_where_they_are_used():
    text = page()
    assert "*RL Zoo*: RL Baselines3 Zoo" in text
    assert "CleanRL" not in text


def test_the_machine_is_named_once():
    lines = [line for line in page().splitlines() if "Some CPU" in line]
    assert lines == [
        "- Some CPU, 2 cores, 1 torch thread(s); Python 3.11.7, torch 2.9, gymnasium 1.2"
    ]


def test_a_trial_says_so():
    assert "trial" not in page()
    assert "**A trial with changed settings: `gamma=0.5`.**" in page(overrides=["gamma=0.5"])


def test_unfinished_episodes_are_told():
    assert "did not end in time" not in page()
    assert "in no mean:** CartPole-v1:ppo 4." in page(n_unfinished=1)


def test_what_a_reader_must_know_of_a_row_is_told():
    assert "- Taxi-v4:ppo: it was rained upon.\n" in page()
