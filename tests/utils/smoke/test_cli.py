import pytest

from utils.errors import ConfigError, UserError
from utils.smoke import TrialResult, cli


@pytest.fixture
def tried(monkeypatch):
    """Replace the processes; every config is fine but those that are named here."""
    failing = {}
    seen = []

    def run_trials(trial, config_ids, *, timeout_seconds, preload, n_jobs):
        for config_id in config_ids:
            seen.append(config_id)
            yield TrialResult(config_id, failing.get(config_id, "ok"), 1.0, "")

    monkeypatch.setattr(cli, "run_trials", run_trials)
    return failing, seen


def options(*arguments):
    return cli.smoke_parser("smoke.py", "Try.").parse_or_refuse(list(arguments))


def test_filter_and_limit_choose_the_configs(tried):
    _, seen = tried
    assert cli.smoke(str, options("--filter", "cartpole", "--limit", "1"), preload=[]) == 0
    assert seen == ["CartPole-v1:ppo"]


def test_the_table_has_the_order_of_the_configs(monkeypatch, capsys):
    def backwards(trial, config_ids, **kwargs):
        for config_id in reversed(config_ids):
            yield TrialResult(config_id, "ok", 1.0, "")

    monkeypatch.setattr(cli, "run_trials", backwards)
    monkeypatch.setattr(cli, "find_config_ids", lambda pattern: ["Pong:a", "Pong:b", "Pong:c"])
    cli.smoke(str, options(), preload=[])
    told = capsys.readouterr().out
    assert told.startswith("[1/3] Pong:c: ok (1.0 s)\n")
    table = [line.split()[0] for line in told.splitlines() if line.startswith("Pong")]
    assert table == ["Pong:a", "Pong:b", "Pong:c"]


@pytest.mark.parametrize(("outcome", "code"), [("failed", 1), ("not installed", 0)])
def test_only_a_failure_makes_the_exit_code_1(tried, outcome, code):
    tried[0]["CartPole-v1:reinforce"] = outcome
    assert cli.smoke(str, options("--filter", "cartpole"), preload=[]) == code


def test_a_filter_that_fits_nothing_is_refused(tried):
    with pytest.raises(ConfigError, match="no config matches 'xyzzy'"):
        cli.smoke(str, options("--filter", "xyzzy"), preload=[])


@pytest.mark.parametrize("value", ["0", "-1", "ten", "1.5"])
def test_a_limit_must_be_a_whole_number(value):
    with pytest.raises(UserError, match=f"--limit {value}: must be a whole number >= 1"):
        options(f"--limit={value}")


def test_of_configs_that_a_trial_cannot_tell_apart_the_first_is_tried(tried):
    _, seen = tried
    cli.smoke(
        str,
        options("--filter", "MountainCar"),
        preload=[],
        tells_apart=lambda config_id: config_id.split(":")[0],
    )
    assert seen == ["MountainCar-v0:ppo", "MountainCarContinuous-v0:ppo"]
