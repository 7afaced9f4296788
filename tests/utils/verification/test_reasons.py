import copy

from tests.helpers.played_runs import make_config
from utils.verification.reasons import changed_settings, explain

CONFIG = {"schema_version": 2, "seed": 0, "gamma": 0.9, "policy_kwargs": {"hidden_dims": [64]}}
FACTS = {
    "python": "3.11.7",
    "device": "cpu",
    "torch_threads": 1,
    "packages": {"torch": "2.13.0", "numpy": "2.4.6"},
    "thread_variables": {"OMP_NUM_THREADS": "1"},
    "processor": "EPYC",
    "processor_flags": ["avx2", "fma"],
    "git_commit": "abc",
    "git_has_changes": False,
    "config": CONFIG,
}


def facts(**changes):
    return copy.deepcopy(FACTS) | changes


def explained(before, now, config=CONFIG, results=None):
    sessions = before if isinstance(before, list) else [before]
    return explain(sessions, now, config=config, results=results or {})


def test_nothing_is_otherwise():
    assert explained(facts(), facts(started_at="later", argv=["x"])) == []


def test_a_changed_config_is_named_by_its_settings():
    config = copy.deepcopy(CONFIG) | {"seed": 7}
    config["policy_kwargs"]["hidden_dims"] = [32]
    assert explained(facts(), facts(), config) == [
        "config.json was changed after the training: seed was 0, is 7",
        "config.json was changed after the training: policy_kwargs.hidden_dims was [64], is [32]",
    ]


def test_a_changed_seed_is_known_by_the_result_where_nothing_else_was_recorded():
    (reason, missing) = explained([], facts(), CONFIG | {"seed": 7}, {"seed": 0})
    assert reason == "config.json was changed after the training: seed was 0, is 7"
    assert missing == "versions, threads and device of the training were not recorded"


def test_versions_device_threads_and_processor_are_named():
    now = facts(
        packages={"torch": "2.14.0"},
        device="cuda",
        torch_threads=4,
        thread_variables={},
        processor="Xeon",
        processor_flags=["avx2", "avx512f"],
        git_commit="def",
        git_has_changes=True,
    )
    assert explained(facts(), now) == [
        "torch was 2.13.0, is 2.14.0",
        "numpy was 2.4.6, is not installed",
        "device was cpu, is cuda",
        "torch threads was 1, is 4",
        "processor was EPYC, is Xeon",
        "this program's commit was abc, is def",
        "OMP_NUM_THREADS was 1, is not set",
        "the processor's vector instructions: now without fma, with avx512f",
        "this program had uncommitted changes now",
    ]


def test_what_an_older_program_did_not_record_is_no_difference():
    old = {"python": "3.11.7", "packages": {"torch": "2.13.0"}, "device": "cpu"}
    now = facts(thread_variables={})
    assert explained(old, now) == []


def test_the_past_of_a_resumed_run():
    first = facts(config=CONFIG | {"max_timesteps": 100}, device="cuda")
    last = facts(config=CONFIG | {"max_timesteps": 200})
    assert explained([first, last], facts(), CONFIG | {"max_timesteps": 200}) == [
        "2 processes trained the run one after the other (it was resumed)",
        "the run was resumed with other settings: max_timesteps was 100 at first, 200 in the end",
        "it was trained on cuda and then on cpu",
    ]


def test_settings_that_only_one_has():
    assert changed_settings({"a": 1}, {"b": None}) == [("a", 1, "-"), ("b", "-", None)]


def test_a_config_that_an_older_program_recorded_is_no_changed_one():
    now = make_config().to_dict()
    then = {"schema_version": 1} | {
        k: v for k, v in now.items() if k not in ("schema_version", "exploration")
    }
    assert explained(facts(config=then), facts(), now) == []
    (reason,) = explained(facts(config=then | {"n_steps": 16}), facts(), now)
    assert reason == "config.json was changed after the training: n_steps was 16, is 8"
