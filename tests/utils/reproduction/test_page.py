from utils.reproduction.page import write_page
from utils.reproduction.rows import HEADER, Row

ROWS = [
    Row(("CartPole-v1:ppo", *["x"] * (len(HEADER) - 2)), ("one machine",)),
    Row(("Acrobot-v1:reinforce", *["y"] * (len(HEADER) - 2)), ("another", "one machine")),
]


def test_each_machine_is_told_once_and_named_by_number():
    text = write_page(ROWS)
    lines = text.splitlines()
    assert next(line for line in lines if line.startswith("| CartPole")).endswith("| 1 |")
    assert next(line for line in lines if line.startswith("| Acrobot")).endswith("| 2, 1 |")
    assert lines[-4:] == ["## Machines", "", "1. one machine", "2. another"]


def test_sources_are_explained_where_they_are_used():
    assert "*RL Zoo*: RL Baselines3 Zoo" in write_page(ROWS)
    assert "UCB1" not in write_page(ROWS)
    assert "RL Baselines3 Zoo" not in write_page(ROWS[1:])


def test_what_a_reader_must_know_of_a_row_is_told():
    remark = "- Acrobot-v1:reinforce: its settings"
    assert remark in write_page(ROWS)
    assert remark not in write_page(ROWS[:1])


def test_a_trial_says_so():
    assert "trial" not in write_page(ROWS)
    assert "**A trial with changed settings: `gamma=0.5`.**" in write_page(
        ROWS, overrides=["gamma=0.5"]
    )
