import gymnasium
import numpy as np
import pytest

pytest.importorskip("ale_py")

from ale_py.env import AtariEnv as AleEnv

from gym_envs.atari import AtariEnv, register_games
from utils.config.atari import ATARI_DEFAULTS
from utils.errors import ConfigError


def build(game="breakout", **changes):
    return AtariEnv(**{**ATARI_DEFAULTS, "repeat_action_probability": 0.0, "game": game, **changes})


def roll(env, actions, seed=3):
    """Return what each step gave, as long as the first game lasts."""
    steps = [(env.reset(seed=seed)[0], 0.0, False, False)]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        steps.append((observation, reward, terminated, truncated))
        if terminated or truncated:
            break
    return steps


@pytest.mark.parametrize("obs_type", ["rgb", "grayscale", "ram"])
def test_the_defaults_are_the_game_that_the_id_stands_for_elsewhere(obs_type):
    ours = build(obs_type=obs_type)
    theirs = AleEnv("breakout", obs_type=obs_type, frameskip=4, repeat_action_probability=0.0)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.get_action_meanings() == theirs.get_action_meanings()
    actions = np.random.default_rng(0).integers(4, size=120)
    for (seen, *rest), (wanted, *others) in zip(
        roll(ours, actions), roll(theirs, actions), strict=True
    ):
        assert rest == others
        np.testing.assert_array_equal(seen, wanted)


def test_registration_keeps_what_the_id_stands_for_and_the_vector_environment():
    register_games(ATARI_DEFAULTS)
    register_games(ATARI_DEFAULTS)
    spec = gymnasium.spec("ALE/MsPacman-v5")
    assert spec.entry_point == "gym_envs.atari.env:AtariEnv"
    assert spec.vector_entry_point == "ale_py.vector_env:AtariVectorEnv"
    env = gymnasium.make("ALE/MsPacman-v5")
    assert isinstance(env.unwrapped, AtariEnv)
    assert env.unwrapped.game == "ms_pacman"


def test_the_action_sets_are_the_minimal_and_the_full_one():
    assert build("pong").get_action_meanings() == [
        "NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE",
    ]  # fmt: skip
    full = build("pong", full_action_space=True)
    assert full.action_space.n == len(full.get_action_meanings()) == 18


def test_a_picture_is_the_brighter_of_the_last_two_frames():
    single = build(frameskip=1, obs_type="grayscale")
    pooled = build(frameskip=4, obs_type="grayscale", maxpool=True)
    frames = [step[0] for step in roll(single, [1] * 4 + [2] * 4)]
    pictures = [step[0] for step in roll(pooled, [1, 2])]
    np.testing.assert_array_equal(pictures[0], frames[0])
    np.testing.assert_array_equal(pictures[1], np.maximum(frames[3], frames[4]))
    np.testing.assert_array_equal(pictures[2], np.maximum(frames[7], frames[8]))


def test_points_of_skipped_frames_are_added_up_and_pictures_reduced():
    env = build("space_invaders", screen_size=[84, 63])
    assert env.observation_space.shape == (84, 63, 3)
    actions = np.random.default_rng(1).integers(env.action_space.n, size=300)
    total = sum(step[1] for step in roll(env, actions))
    single = build("space_invaders", frameskip=1)
    assert total == sum(step[1] for step in roll(single, np.repeat(actions, 4))) > 0


def test_a_game_begins_with_the_frames_without_action_that_its_seed_draws():
    # The first words of the twister for seeds 0 to 3 give 16, 12, 13 and 16 of 30.
    for seed, n_frames in enumerate([16, 12, 13, 16]):
        begun = build(noop_max=30).reset(seed=seed)[0]
        waited = roll(build(frameskip=1), [0] * n_frames, seed=seed)[-1][0]
        np.testing.assert_array_equal(begun, waited)


def test_fire_begins_a_game_where_it_is_an_action():
    pressed = build(fire_reset=True).reset(seed=0)[0]
    np.testing.assert_array_equal(pressed, roll(build(frameskip=1), [1], seed=0)[-1][0])
    env = build("freeway", fire_reset=True)
    assert "FIRE" not in env.get_action_meanings()
    env.reset(seed=0)


def test_a_game_that_ends_in_its_first_frames_is_begun_anew(monkeypatch):
    env = build(noop_max=30)
    begun, over = [], iter([False, True] + [False] * 100)
    ale = env._ale._ale

    class Counting:
        def __getattr__(self, name):
            return getattr(ale, name)

        def reset_game(self):
            begun.append(1)
            ale.reset_game()

    monkeypatch.setattr(env._ale, "_ale", Counting())
    monkeypatch.setattr(env._ale, "is_over", lambda: next(over))
    env._ale.begin(fire=False, n_noops=16)
    assert len(begun) == 2


def test_frames_limit_a_game():
    steps = roll(build("pong", max_num_frames_per_episode=42), [0] * 20)
    # 42 frames are ten steps and a half.
    assert len(steps) - 1 == 11
    assert steps[-1][2:] == (False, True)


def test_a_whole_game_terminates_and_tells_its_lives():
    env = build(fire_reset=True)
    _, info = env.reset(seed=0)
    lives, terminated = [info["lives"]], False
    while not terminated:
        _, _, terminated, truncated, info = env.step(1)
        assert not truncated
        lives.append(info["lives"])
    assert sorted(set(lives), reverse=True) == [5, 4, 3, 2, 1, 0]
    assert lives[-1] == 0


def test_the_same_seed_gives_the_same_game_with_sticky_actions():
    actions = np.random.default_rng(2).integers(4, size=100)
    env = build(repeat_action_probability=0.25, noop_max=30)
    pictures = [np.stack([step[0] for step in roll(env, actions, seed=seed)]) for seed in (5, 5, 6)]
    assert (pictures[0] == pictures[1]).all()
    assert (pictures[0] != pictures[2]).any()


def test_it_draws_its_screen_and_knows_its_speed():
    env = build(obs_type="ram", render_mode="rgb_array", frameskip=3)
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (210, 160, 3)
    assert frame.std() > 0
    assert env.metadata["render_fps"] == 20
    assert build().render() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"obs_type": "pixels"}, "'pixels' is not one of rgb, grayscale, ram, objects"),
        ({"mode": 77}, "breakout has no mode 77 .it has 0, 4, 8"),
        ({"difficulty": 9}, "breakout has no difficulty 9"),
        ({"game": "qbert", "obs_type": "objects"}, "of qbert, only of breakout and pong"),
        ({"game": "chess"}, "ale-py has no ROM of a game 'chess'"),
    ],
)
def test_what_there_is_not_is_told_in_a_line(changes, message):
    with pytest.raises(ConfigError, match=message):
        build(**changes)


def test_a_missing_rom_is_told_in_a_line(monkeypatch, tmp_path):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(ConfigError, match=r"ROM of pong cannot be used: .*ale-py brings its own"):
        build("pong")


def test_another_mode_is_another_game():
    plain, other = (roll(build("pong", mode=mode), [0] * 60)[-1][0] for mode in (0, 1))
    assert (plain != other).any()
