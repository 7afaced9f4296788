import pytest

from tests.helpers.finished_runs import finished_run
from utils.errors import UserError
from utils.experiments.cache import read_records
from utils.experiments.filters import parse_conditions, select
from utils.run import Labels

FALLING = {"start": 0.003, "end": 0.0, "from": 0.0, "to": 1.0}


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    finished_run(folder, seed=0, test=450.0, gamma=0.9, policy_kwargs={"hidden_dims": [64, 64]})
    finished_run(folder, seed=1, test=500.0, gamma=0.99, labels=Labels(tags=("paper", "keep")))
    finished_run(folder, seed=2, test=None, algo="dqn", variant="dqn", n_steps=None, on=True)
    finished_run(
        folder,
        env="Acrobot-v1",
        seed=3,
        test=-80.0,
        labels=Labels(group="study-1"),
        policy_lr=FALLING,
    )
    return read_records(folder)


@pytest.mark.parametrize(
    ("words", "seeds"),
    [
        ([], [3, 2, 1, 0]),
        (["algo=ppo", "env=CartPole-v1"], [1, 0]),
        (["algo=PPO", "env=cartpole*"], [1, 0]),
        (["seed=0,3"], [3, 0]),
        (["seed!=0,3"], [2, 1]),
        (["test>450"], [1]),
        (["test>=450"], [1, 0]),
        (["test<0"], [3]),
        (["test>-1000", "test<=500"], [3, 1, 0]),
        (["tag=paper"], [1]),
        (["tag=p*"], [1]),
        (["tag!=paper"], [3, 2, 0]),
        (["group=study-1"], [3]),
        (["status=completed"], [3, 2, 1, 0]),
        (["gamma=0.90"], [0]),
        (["policy_kwargs.hidden_dims=[64, 64]"], [0]),
        (["n_steps=null"], [3, 2, 1, 0]),
        (["n_steps=null", "on=true"], [2]),
        (["dqn"], [2]),
        (["study"], [3]),
        (["val/best/ep_rew_mean=90"], [3, 2, 1, 0]),
        (["started>2020-01-01"], [3, 2, 1, 0]),
        (["config=CartPole-v1:ppo"], [1, 0]),
        (["algo=sac"], []),
        (["policy_lr=lin_0.003"], [3]),
    ],
)
def test_what_filters_select(records, words, seeds):
    found = select(records, parse_conditions(words))
    assert sorted(record.columns["seed"] for record in found) == sorted(seeds)


def test_a_name_that_no_run_knows_is_refused(records):
    with pytest.raises(UserError, match="no run has 'gama': did you mean 'gamma'"):
        select(records, parse_conditions(["gama=1"]))


def test_a_condition_without_a_value_is_refused():
    with pytest.raises(UserError, match="a value is missing after '='"):
        parse_conditions(["algo="])


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("test>abc", "'test>abc': test is a number, and 'abc' is none"),
        ("seed<=4,x", "'seed<=x': seed is a number, and 'x' is none"),
        ("tag>paper", "'tags>paper': tags has no larger and smaller values; compare by = or !="),
        ("on<true", "'on<true': on has no larger and smaller values; compare by = or !="),
    ],
)
def test_what_has_no_order_is_refused(records, word, why):
    with pytest.raises(UserError) as told:
        select(records, parse_conditions([word]))
    assert str(told.value) == why
