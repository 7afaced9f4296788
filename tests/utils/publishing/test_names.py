import pytest

from utils.publishing.names import check_repo_id, default_name


@pytest.mark.parametrize("repo_id", ["ann/CartPole-v1-ppo", "_a/b.c_d", "a/b", "lab-9/x1"])
def test_names_that_the_hub_takes(repo_id):
    assert check_repo_id(repo_id, option="--repo") == []


REFUSED = ["CartPole", "a/b/c", "a/", "/b", "a/-b", "a/b.", "a/b--c", "a/b..c", "a/b.git", "a/b c"]
REFUSED += ["../etc/passwd", "a/ü", "", "a/" + 100 * "b"]


@pytest.mark.parametrize("repo_id", REFUSED)
def test_names_that_it_refuses(repo_id):
    (problem,) = check_repo_id(repo_id, option="--repo")
    assert problem.startswith("--repo ")


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("CartPole-v1", "CartPole-v1-ppo"),
        ("ALE/Pong-v5", "ALE-Pong-v5-ppo"),
        ("dm_control/walker-walk", "dm_control-walker-walk-ppo"),
        ("my.module:Maze-v0", "Maze-v0-ppo"),
    ],
)
def test_a_repository_is_named_after_environment_and_algorithm(env_id, name):
    assert default_name(env_id, "ppo") == name
    assert check_repo_id(f"ann/{name}", option="") == []
