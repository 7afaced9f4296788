import pytest

from utils.config import load_config
from utils.environment.families.standard import find_spec
from utils.environment.families.table import family_of
from utils.errors import ConfigError
from utils.reproduction.cli import read_options
from utils.reproduction.command import run_suite
from utils.reproduction.entries import SOURCES
from utils.reproduction.tables import TABLES

N_TASKS = {"atari-100k": 26, "dmc-numbers": 18, "dmc-pictures": 20, "dmc-tdmpc": 28}
FRAMES = {"atari-100k": 4e5, "dmc-numbers": 5e5, "dmc-pictures": 1e6, "dmc-tdmpc": 1e6}
REPEATS = {"atari-100k": 4, "dmc-numbers": 2, "dmc-pictures": 2, "dmc-tdmpc": 2}


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_a_config_of_the_published_length(name):
    entries = TABLES[name].entries
    assert len({entry.config_id for entry in entries}) == N_TASKS[name]
    for entry in entries:
        config = load_config(entry.config_id)
        assert config.max_timesteps * REPEATS[name] == FRAMES[name], entry
        assert {other.source for other in entry.others} <= SOURCES.keys()


@pytest.mark.parametrize("name", TABLES)
def test_every_task_is_there(name):
    package = {"A": "ale_py", "d": "dm_control"}[TABLES[name].entries[0].config_id[0]]
    pytest.importorskip(package)
    for entry in TABLES[name].entries:
        env_id = entry.config_id.split(":")[0]
        family_of(env_id).make_known(env_id)
        assert find_spec(env_id).id == env_id


def test_the_plan_tells_what_a_table_costs(tmp_path, capsys):
    options = read_options(
        ["--table", "atari-100k", "--plan", "--filter", "*/Pong*", "--out", str(tmp_path)]
    )
    assert run_suite(options) == 0
    told = capsys.readouterr().err
    # 100,000 actions, an update for every 8, 0.153 s for each: 1,912 s; five seeds.
    assert "the updates of one training take 32 min, of all 5 2.7 h" in told


def test_a_table_is_not_all_there_is():
    with pytest.raises(ConfigError, match="--table and --all exclude each other"):
        read_options(["--table", "dmc-tdmpc", "--all"])
