"""The tables are compared with the screen: each object is looked for by its colour."""

import numpy as np
import pytest

pytest.importorskip("ale_py")

from gym_envs.atari import AtariEnv
from gym_envs.atari.objects import find_object_reader, list_games
from utils.config.atari import ATARI_DEFAULTS

WHITE, GREEN, ORANGE, RED = (236, 236, 236), (92, 186, 92), (213, 130, 74), (200, 72, 72)
BRICK_COLOURS = [RED, (198, 108, 58), (180, 122, 48), (162, 162, 42), (72, 160, 72), (66, 72, 200)]


def build(game, **changes):
    settings = {**ATARI_DEFAULTS, "repeat_action_probability": 0.0, "obs_type": "objects"}
    return AtariEnv(**{**settings, "game": game, "render_mode": "rgb_array", **changes})


def box_of(frame, colour, rows, columns=slice(0, 160)):
    """Return x, y, width and height of what has a colour in a part of the screen, or None."""
    found = np.nonzero((frame[rows, columns] == np.array(colour)).all(axis=-1))
    if len(found[0]) == 0:
        return None
    (top, left), (bottom, right) = (
        [int(f(axis)) + s.start for axis, s in zip(found, (rows, columns), strict=True)]
        for f in (np.min, np.max)
    )
    return left, top, right - left + 1, bottom - top + 1


def play(env, n_steps, seed=0):
    """Act at random, each action for six steps; give the objects and the screen of each step."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    for t in range(n_steps):
        if t % 6 == 0:
            action = rng.integers(env.action_space.n)
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
        yield env.read_objects(), env.render()


def test_pong_is_where_the_screen_shows_it():
    field, n_balls, n_absent = slice(34, 194), 0, 0
    paddles = {"player y": GREEN, "opponent y": ORANGE}
    n_seen = dict.fromkeys(paddles, 0)
    for objects, frame in play(build("pong", frameskip=1), 1500):
        ball = box_of(frame, WHITE, field)
        if ball is None:
            n_absent += np.isnan(objects["ball y"])
        elif ball[3] == 4:  # not behind a border
            n_balls += 1
            assert objects["ball x"] == ball[0]
            assert abs(objects["ball y"] - ball[1]) <= 1
        for label, colour in paddles.items():
            box = box_of(frame, colour, field)
            if box is not None and box[3] == 16:
                n_seen[label] += 1
                assert abs(objects[label] - box[1]) <= 1
    assert n_balls > 400
    assert n_absent > 250
    assert min(n_seen.values()) > 250


def test_breakout_is_where_the_screen_shows_it():
    inside, n_balls, n_paddles = slice(8, 152), 0, 0
    for objects, frame in play(build("breakout", frameskip=1), 1500):
        ball = box_of(frame, RED, slice(93, 189), inside)
        if ball is not None and ball[2:] == (2, 4):
            n_balls += 1
            assert (objects["ball x"], objects["ball y"]) == ball[:2]
        paddle = box_of(frame, RED, slice(189, 193), inside)
        if paddle is not None and paddle[2] == 16 and paddle[0] > 8:
            n_paddles += 1
            assert objects["paddle x"] == paddle[0]
    assert n_balls > 400
    assert n_paddles > 400


def test_bricks_and_lives_of_breakout_are_counted():
    env = build("breakout")
    reader = find_object_reader("breakout")
    observation, info = env.reset(seed=0)
    counts, n_late = set(), 0
    for _ in range(500):
        objects, frame = env.read_objects(), env.render()
        n_bricks = sum(
            int((frame[59 + 6 * row, 8:152] == np.array(colour)).all(-1)[4::8].sum())
            for row, colour in enumerate(BRICK_COLOURS)
        )
        told = dict(zip(reader.labels, observation, strict=True))
        # The screen may show a brick for a frame after it was struck from the memory.
        n_shown_longer = n_bricks - round(float(told["bricks"]) * 108)
        assert n_shown_longer in (0, 1)
        n_late += n_shown_longer
        assert told["lives"] * 5 == pytest.approx(info["lives"])
        counts.add(n_bricks)
        middle = objects["paddle x"] + 8
        action = 1 if np.isnan(objects["ball x"]) else 2 if objects["ball x"] > middle else 3
        observation, _, terminated, _, info = env.step(action)
        assert not terminated
    assert n_late < 10
    assert max(counts) == 108
    assert min(counts) < 100


@pytest.mark.parametrize("game", list_games())
def test_features_are_in_their_space_and_are_named(game):
    env = build(game, noop_max=30)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.shape == (len(find_object_reader(game).labels),)
    for _ in range(300):
        assert observation in env.observation_space
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            observation, _ = env.reset()


def test_features_are_worked_out_as_the_labels_say():
    reader = find_object_reader("pong")
    ram = np.zeros(128, np.uint8)
    ram[[49, 54, 51, 50]] = 129 + 8, 128 + 40, 120, 122  # ball x, ball y, player, opponent
    older = reader.read_positions(ram)
    ram[[49, 54, 51, 50]] = 129 + 16, 128 + 20, 124, 122
    newer = reader.read_positions(ram)
    # ball x: 145 - 49 = 96, (96 - 80) / 80; ball y: 148 - 14 = 134, (134 - 114) / 80;
    # player: 124 - 13 = 111, (111 - 107) / 80; opponent: 122 - 15 = 107. Speeds by 16 pixels.
    expected = [0.2, 0.25, 0.05, 0.0, 0.5, -1.25, 0.25, 0.0, 1.0]
    np.testing.assert_allclose(reader.build_features(older, newer), expected, rtol=1e-6)
    ram[54] = 0  # the ball is gone
    gone = reader.read_positions(ram)
    np.testing.assert_allclose(
        reader.build_features(newer, gone), [0, 0, 0.05, 0, 0, 0, 0, 0, 0], atol=1e-6
    )
    np.testing.assert_allclose(reader.build_features(gone, newer)[4:6], 0)


def test_a_game_begins_at_rest():
    env = build("pong")
    for _ in range(2):
        observation, _ = env.reset()
        np.testing.assert_array_equal(observation[4:8], 0)
        assert any(env.step(2)[0][6] != 0 for _ in range(20))
