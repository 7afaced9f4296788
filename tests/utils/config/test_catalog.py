import pytest

from tests.helpers.config_files import PPO, REINFORCE, write_variants
from utils.config import list_configs, load_config
from utils.config.catalog import find_config_ids
from utils.errors import ConfigError

SPEC = "spec: {{summary: {}, solved_threshold: {}}}\n"


@pytest.fixture
def folder(tmp_path):
    write_variants(
        tmp_path, "CartPole-v1", base=SPEC.format("Balance", 475), ppo=PPO, reinforce=REINFORCE
    )
    write_variants(tmp_path, "ALE/Pong-v5", base="spec: {summary: Play}\n", ppo=PPO)
    return tmp_path


@pytest.mark.parametrize(
    ("config_id", "expected"),
    [
        ("CartPol-v1:ppo", "unknown environment 'CartPol-v1': did you mean 'CartPole-v1'?"),
        ("cartpole-v1:ppo", "unknown environment 'cartpole-v1': did you mean 'CartPole-v1'?"),
        ("Xyzzy:ppo", "unknown environment 'Xyzzy': `train.py --list-envs` lists them all"),
        (
            "CartPole-v1:pppo",
            "unknown variant 'pppo' of CartPole-v1: did you mean 'ppo'? "
            "(there are: CartPole-v1:ppo, CartPole-v1:reinforce)",
        ),
        (
            "CartPole-v1:_base",
            "unknown variant '_base' of CartPole-v1 "
            "(there are: CartPole-v1:ppo, CartPole-v1:reinforce)",
        ),
        (
            "CartPole-v1",
            "config id 'CartPole-v1' names no variant; "
            "there are: CartPole-v1:ppo, CartPole-v1:reinforce",
        ),
        ("", "'' is no config id: write <env>:<variant>"),
        (":ppo", "':ppo' is no config id: write <env>:<variant>"),
    ],
)
def test_ids_that_lead_nowhere(folder, config_id, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(config_id, config_dir=folder)
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("config_id", "expected"),
    [
        ("Pong:ppo", "unknown environment 'Pong': did you mean 'ALE/Pong-v5'?"),
        ("pong-v4:ppo", "unknown environment 'pong-v4': did you mean 'ALE/Pong-v5'?"),
        (
            "ALE/Pong-v5:reinforce",
            "unknown variant 'reinforce' of ALE/Pong-v5: there is one for CartPole-v1 "
            "(there are: ALE/Pong-v5:ppo)",
        ),
    ],
)
def test_where_what_was_meant_is_to_be_found(folder, config_id, expected):
    with pytest.raises(ConfigError) as caught:
        load_config(config_id, config_dir=folder)
    assert str(caught.value) == expected


def test_many_environments_of_a_variant_are_not_all_named():
    with pytest.raises(ConfigError, match=r"there is one for (\S+, ){4}and \d+ more \(there are: "):
        load_config("CartPole-v1:sac")
    with pytest.raises(ConfigError, match="'planet' of CartPole-v1: there is one for Pendulum-v1 "):
        load_config("CartPole-v1:planet")


def test_an_id_leads_to_no_file_outside_the_folder(folder):
    inner = folder / "inner"
    inner.mkdir()
    with pytest.raises(ConfigError, match="unknown environment"):
        load_config("../CartPole-v1:ppo", config_dir=inner)
    with pytest.raises(ConfigError, match="unknown environment"):
        load_config("x" * 5000 + ":ppo", config_dir=inner)


def test_a_setting_at_the_top_of_a_file_is_told_where_it_belongs(folder):
    path = folder / "CartPole-v1.yaml"
    path.write_text(path.read_text() + "policy_lr: 1e-3\n")
    with pytest.raises(ConfigError, match="'policy_lr' at the top of the file is no variant"):
        load_config("CartPole-v1:ppo", config_dir=folder)


def test_blocks_that_begin_with_an_underscore_are_no_variants(folder):
    path = folder / "CartPole-v1.yaml"
    path.write_text(path.read_text() + "_shared: &shared {gamma: 0.5}\nx: {<<: *shared}\n_n: 3\n")
    assert "ppo, reinforce, x " in list_configs("cart", config_dir=folder)


def test_the_table(folder):
    assert list_configs(config_dir=folder).splitlines() == [
        "environment  variants        solved at  task",
        "ALE/Pong-v5  ppo                     -  Play",
        "CartPole-v1  ppo, reinforce        475  Balance",
    ]


@pytest.mark.parametrize(
    ("pattern", "rows"),
    [
        ("pong", ["ALE/Pong-v5  ppo"]),
        ("*-v1", ["CartPole-v1  ppo, reinforce"]),
        ("*:reinforce", ["CartPole-v1  reinforce"]),
        ("cartpole-v1:ppo", ["CartPole-v1  ppo"]),
    ],
)
def test_the_filter_of_the_table(folder, pattern, rows):
    lines = list_configs(pattern, config_dir=folder).splitlines()[1:]
    assert [line[: len(row)] for line, row in zip(lines, rows, strict=True)] == rows


def test_a_filter_that_nothing_matches(folder):
    with pytest.raises(
        ConfigError, match="no environment matches 'CartPool-v1': did you mean 'Cart"
    ):
        list_configs("CartPool-v1", config_dir=folder)
    with pytest.raises(ConfigError, match="no config files in"):
        list_configs(config_dir=folder / "absent")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("", ["ALE/Pong-v5:ppo", "CartPole-v1:ppo", "CartPole-v1:reinforce"]),
        ("cartpole", ["CartPole-v1:ppo", "CartPole-v1:reinforce"]),
        ("*:ppo", ["ALE/Pong-v5:ppo", "CartPole-v1:ppo"]),
    ],
)
def test_ids_are_found_by_text_or_glob(folder, pattern, found):
    assert find_config_ids(pattern, config_dir=folder) == found


def test_no_id_found_is_a_mistake_that_names_the_nearest(folder):
    with pytest.raises(ConfigError, match="'CartPol-v1:ppo': did you mean 'CartPole-v1:ppo'"):
        find_config_ids("CartPol-v1:ppo", config_dir=folder)


def test_the_list_says_which_extras_are_missing():
    def missing_extras(settings):
        return ["box2d"] if settings["env_id"].startswith("LunarLander") else []

    assert "needs" not in list_configs("acrobot", missing_extras=missing_extras)
    lines = list_configs("lunar", missing_extras=missing_extras).splitlines()
    marked = [line.split()[0] for line in lines if "(needs the extra 'box2d')" in line]
    assert marked == ["LunarLander-v3", "LunarLanderContinuous-v3"]
    assert lines[-1] == "what is missing installs with  pip install 'gymnasium-solver[box2d]'"


def test_an_extra_that_some_variants_need_is_told_beside_them(folder):
    def missing_extras(settings):
        return ["a", "b"] if settings["algo_id"] == "reinforce" else ["b"]

    table = list_configs("cart", config_dir=folder, missing_extras=missing_extras)
    assert table.splitlines()[1:] == [
        "CartPole-v1  ppo, reinforce (needs 'a')        475  (needs the extra 'b') Balance",
        "",
        "what is missing installs with  pip install 'gymnasium-solver[a,b]'",
    ]


def test_the_table_is_wrapped_into_a_narrow_terminal(tmp_path):
    spec = SPEC.format("Keep a pole upright on a cart by pushing it left or right", 475)
    write_variants(tmp_path, "Cart-v1", base=spec, ppo=PPO, reinforce=REINFORCE, x=PPO)
    for width in (50, 76, 200):
        table = list_configs(config_dir=tmp_path, width=width)
        assert max(map(len, table.splitlines())) <= width
    assert len(table.splitlines()) == 2
    assert list_configs(config_dir=tmp_path, width=76).splitlines() == [
        "environment  variants           solved at  task",
        "Cart-v1      ppo, reinforce, x        475  Keep a pole upright on a cart by",
        "                                           pushing it left or right",
    ]
    assert list_configs(config_dir=tmp_path, width=50).splitlines()[2:] == [
        "Cart-v1      ppo, reinforce, x        475",
        "  Keep a pole upright on a cart by pushing it left",
        "  or right",
    ]


@pytest.mark.parametrize("width", [80, 110, 160])
def test_all_configs_fit_a_terminal(width):
    assert max(map(len, list_configs(width=width).splitlines())) <= width


@pytest.fixture
def families(tmp_path):
    """Two games, one of which has a file, in a family with two variants."""
    folder = tmp_path / "environments"
    folder.mkdir()
    write_variants(folder, "ALE/Pong-v5", base="spec: {summary: Pong}\nseed: 7\n", ppo=PPO)
    (tmp_path / "families").mkdir()
    block = PPO.replace("\n", "\n  ").rstrip(" ")
    (tmp_path / "families" / "ALE.yaml").write_text(
        "_base:\n  spec: {summary: A game}\n"
        f"ppo:\n  {block}  gamma: 0.5\nother:\n  {block}  gamma: 0.25\n"
    )
    return folder


def test_what_a_family_can_do_needs_no_file_and_gives_way_to_one(families):
    alien = load_config("ALE/Alien-v5:ppo", config_dir=families)
    assert (alien.env_id, alien.config_id, alien.gamma) == ("ALE/Alien-v5", "ALE/Alien-v5:ppo", 0.5)
    assert alien.spec.summary == "A game"
    own = load_config("ALE/Pong-v5:ppo", config_dir=families)
    assert (own.seed, own.spec.summary, own.gamma) == (7, "Pong", 0.99)
    inherited = load_config("ALE/Pong-v5:other", config_dir=families)
    assert (inherited.seed, inherited.spec.summary, inherited.gamma) == (7, "Pong", 0.25)


def test_a_file_that_is_named_by_its_path_has_its_family_too(families, tmp_path):
    for path in (families / "ALE-Pong-v5.yaml", tmp_path / "tuned" / "ALE-Pong-v5.yaml"):
        if not path.exists():
            path.parent.mkdir()
            path.write_text((families / path.name).read_text().replace("seed: 7", "seed: 8"))
        own = load_config(f"{path}:ppo", config_dir=families)
        inherited = load_config(f"{path}:other", config_dir=families)
        seed = 7 if path.parent == families else 8
        assert (own.seed, own.gamma) == (seed, 0.99)
        assert (inherited.env_id, inherited.seed, inherited.gamma) == ("ALE/Pong-v5", seed, 0.25)
    with pytest.raises(ConfigError, match=r"did you mean 'other'"):
        load_config(f"{path}:othr", config_dir=families)


def test_the_file_of_a_family_is_no_environment(families):
    path = families.with_name("families") / "ALE.yaml"
    with pytest.raises(ConfigError, match=r"ALE\.yaml' is what all environments of ALE/ can be"):
        load_config(f"{path}:ppo", config_dir=families)


def test_the_lists_tell_of_families(families):
    assert list_configs(config_dir=families).splitlines() == [
        "environment  variants    solved at  task",
        "ALE/Pong-v5  ppo, other          -  Pong",
        "ALE/*        ppo, other          -  A game",
    ]
    assert find_config_ids(config_dir=families) == ["ALE/Pong-v5:ppo", "ALE/Pong-v5:other"]


def test_mistakes_about_a_family_name_its_file(families):
    with pytest.raises(ConfigError, match=r"did you mean 'other'.*: ALE/Alien-v5:ppo, ALE"):
        load_config("ALE/Alien-v5:othr", config_dir=families)
    with pytest.raises(ConfigError, match="unknown environment 'AIE/Pong-v5': did you mean"):
        load_config("AIE/Pong-v5:ppo", config_dir=families)
    with pytest.raises(ConfigError, match="'ALE-Alien-v5': did you mean 'ALE/Alien-v5'"):
        load_config("ALE-Alien-v5:ppo", config_dir=families)
    path = families.with_name("families") / "ALE.yaml"
    path.write_text(path.read_text().replace("gamma: 0.25", "gama: 0.25"))
    with pytest.raises(ConfigError, match=r"ALE\.yaml:\d+: variant 'other': .*gama"):
        load_config("ALE/Pong-v5:other", config_dir=families)
