import pytest

from utils.errors import ConfigError, UserError
from utils.smoke import TrialResult, cli


@pytest.fixture
def tried(monkeypatch):
    """Replace the processes; every config is fine but those that are named here."""
    failing = {}
    seen = []

    def run_trials(trial, config_ids, *, timeout_seconds, preload):
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
