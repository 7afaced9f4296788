"""A person plays, by a script of keys."""

import numpy as np
import pytest
import torch

from tests.helpers.displays import FakeClock, ScriptedDisplay
from tests.helpers.played_runs import make_config
from tests.helpers.policies import build_linear_policy
from utils.playback.action_names import action_labels
from utils.playback.environment import build_playback_env
from utils.playback.human import HumanGame
from utils.playback.key_maps import build_key_map
from utils.playback.live import LiveScreen, PlaybackStopped
from utils.playback.pace import Pace

MASKED = "tests.helpers.masked_envs:Masked-v0"
CHOICES = ("push left", "push right")
WITH_IDLE = ("nothing", "push right")


class Game:
    """A game in a counting environment of 5 steps, 10 frames a second."""

    def __init__(self, script, *, labels=CHOICES, policy=None, tells_releases=True, config=None):
        self.env = build_playback_env(config or make_config(), render_mode="rgb_array")
        self.policy = policy or build_linear_policy(self.env)
        self.clock = FakeClock()
        self.display = ScriptedDisplay(
            script, clock=self.clock, tells_releases=tells_releases, most_readings=1000
        )
        space = self.env.single_action_space
        labels = action_labels(space, labels, self.env.envs[0])
        screen = LiveScreen(self.display, Pace(10, clock=self.clock))
        self.game = HumanGame(screen, build_key_map(space, labels), space, n_episodes=2)
        self.actions = []
        step = self.env.step
        self.env.step = lambda actions: self.actions.append(actions[0].tolist()) or step(actions)

    def play(self, seed=3, k=0):
        try:
            return self.game.play(
                k, seed, env=self.env, policy=self.policy, deterministic=True, max_steps=None
            )
        finally:
            self.env.close()

    @property
    def messages(self):
        return [view.panel.message for view in self.display.views]


def test_where_no_key_is_no_action_time_waits_for_the_person():
    nothing = [[]] * 20
    game = Game([["left"], *nothing, ["right"], ["right"], *nothing, ["left"], ["left"], ["enter"]])
    own = game.play()
    assert game.actions == [0, 1, 1, 0, 0]
    assert (own.episode.episode_return, own.episode.end) == (5.0, "terminated")
    assert (own.n_policy_steps, own.n_tries) == (0, 1)


def test_a_key_that_is_held_steps_at_the_pace():
    game = Game([["left"], *[[]] * 40, ["enter"]])
    game.display.down = ("right",)
    game.play()
    assert game.actions[0] == 0  # the fresh one is newer
    assert game.actions[1:] == [1] * 4
    assert game.clock.now >= 0.4


def test_in_a_terminal_a_tap_is_one_step():
    game = Game([["left"], *[[]] * 200, *[["right"]] * 4, ["enter"]], tells_releases=False)
    game.display.down = ("left",)  # it takes a while to notice that it is not held any more
    game.play()
    assert game.actions == [0, 1, 1, 1, 1]


def test_where_no_key_is_an_action_time_goes_on_after_the_first_key():
    game = Game([[], [], ["x"], *[[]] * 100, ["enter"]], labels=WITH_IDLE)
    game.play()
    assert game.actions == [0] * 5
    assert game.messages[0] == "press a key to begin"
    assert game.clock.now >= 0.5


def test_a_tap_between_two_frames_counts_once():
    script = [["x"], [], ["right"], *[[]] * 100, ["enter"]]
    game = Game(script, labels=WITH_IDLE)
    game.play()
    assert sorted(game.actions) == [0, 0, 0, 0, 1]


def test_the_policy_takes_over_and_hands_back():
    game = Game([["left"], ["tab"], *[[]] * 6, ["tab"], ["left"], ["left"], ["left"], ["enter"]])
    with torch.no_grad():
        game.policy.actor_head.weight.zero_()
        game.policy.actor_head.bias.copy_(torch.tensor([0.0, 1.0]))
    own = game.play()
    assert game.actions[0] == 0
    assert 1 in game.actions[1:4]
    assert own.n_policy_steps == game.actions.count(1)
    facts = [view.panel.facts[1] for view in game.display.views]
    assert {"you play", "the policy plays"} == set(facts)


def test_what_the_policy_thinks_is_beside():
    game = Game([["left"]] * 5 + [["enter"]])
    with torch.no_grad():
        game.policy.actor_head.weight.zero_()
        game.policy.actor_head.bias.copy_(torch.tensor([0.0, np.log(3.0)]))
        game.policy.critic_head.weight.zero_()
        game.policy.critic_head.bias.fill_(12.5)
    game.play()
    panel = game.display.views[0].panel
    assert panel.title == "policy: push right"
    assert [(row.keys, row.label, row.number) for row in panel.rows] == [
        ("left", "push left", "0.25"),
        ("right", "push right", "0.75"),
    ]
    assert [row.is_suggested for row in panel.rows] == [False, True]
    assert panel.rows[1].fraction == pytest.approx(0.75)
    assert panel.facts[0].startswith("value 12.50   entropy 0.56")
    assert game.display.views[-1].panel.facts[2] == "last: push left"


def test_the_end_is_shown_until_the_person_goes_on():
    game = Game([["left"]] * 5 + [[], ["x"], [], ["space"]])
    own = game.play()
    assert game.messages[-1] == "it is over: return 5.00"
    assert not game.display.script
    # Green is 20 times the step: the last picture is the final state.
    assert game.display.views[-1].tiles[0].picture[0, 0, 1] == 100
    assert own.episode.length == 5
    assert not game.game.has_left


def test_leaving_at_the_end_keeps_the_episode():
    game = Game([["left"]] * 5 + [["escape"]])
    assert game.play().episode.length == 5
    assert game.game.has_left


def test_leaving_in_the_middle_stops():
    with pytest.raises(PlaybackStopped):
        Game([["left"], ["left"], ["q"]]).play()
    with pytest.raises(PlaybackStopped):
        Game([["close"]], labels=WITH_IDLE).play()


def test_beginning_again_takes_the_same_seed():
    config = make_config(env_id="CartPole-v1")
    script = [["left"], ["left"], ["backspace"], *[["left"]] * 30]
    game = Game([*script, ["enter"]], config=config)
    # Pushed left all the time the pole falls within 11 steps; what is over reads keys too.
    own = game.play(seed=7)
    assert own.n_tries == 2
    assert own.episode.length == len(game.actions) - 2
    first = [view.tiles[0].picture for view in game.display.views if "step 0" in view.caption]
    assert len(first) >= 2
    assert all((picture == first[0]).all() for picture in first)


def test_a_pause_takes_single_steps():
    script = [["x"], ["p"], *[[]] * 30, ["n"], [], [], ["n"], [], ["p"], *[[]] * 100, ["enter"]]
    game = Game(script, labels=WITH_IDLE)
    seen = []
    read = game.display.read_keys

    def look(seconds):
        keys = read(seconds)
        seen.append((tuple(keys), len(game.actions)))
        return keys

    game.display.read_keys = look
    game.play()
    steps_at = [n for keys, n in seen if keys in (("n",), ("p",))]
    assert steps_at == [0, 0, 1, 2]  # pause, one, another, go on
    assert any(view.caption.startswith("paused   ") for view in game.display.views)


def test_speed_keys_change_the_pace():
    game = Game([["x"], ["+"], ["+"], *[[]] * 100, ["enter"]], labels=WITH_IDLE)
    game.play()
    assert game.display.views[-1].caption.startswith("4x   ")


def test_the_person_obeys_the_mask_too():
    config = make_config(env_id=MASKED, action_masks=True, env_kwargs={"length": 3})
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env, action_masks=True)
    env.envs[0].render = lambda: np.zeros((4, 6, 3), np.uint8)
    env.render_mode = "rgb_array"
    env.final_frames = [np.zeros((4, 6, 3), np.uint8)]
    clock = FakeClock()
    display = ScriptedDisplay([[key] for key in "12345" * 20] + [["enter"]] * 9, clock=clock)
    space = env.single_action_space
    labels = action_labels(space, (), None)
    key_map = build_key_map(space, labels)
    game = HumanGame(LiveScreen(display, Pace(10, clock=clock)), key_map, space, n_episodes=1)
    own = game.play(0, 0, env=env, policy=policy, deterministic=True)
    assert own.episode.end == "truncated"  # anything forbidden would have terminated it
    refused = {view.panel.message for view in display.views if view.panel.message}
    assert any(message.startswith("not allowed now: action ") for message in refused)
    rows = display.views[0].panel.rows
    assert any(row.is_forbidden for row in rows)
    assert all(row.number == "0.00" for row in rows if row.is_forbidden)
    env.close()


@pytest.mark.parametrize("memory", ["none", "gru"])
def test_whoever_acts_the_policy_remembers_what_it_saw(memory):
    config = make_config(policy_kwargs={"hidden_dims": [], "memory": memory})
    env = build_playback_env(config, render_mode=None)
    policy = build_linear_policy(env, memory=memory, memory_dim=8)
    env.close()
    game = Game([["left"]] * 5 + [["enter"]], policy=policy, config=config)
    states = []
    act = policy.act
    policy.act = lambda *args, state=None, **rest: (
        states.append(state) or act(*args, state=state, **rest)
    )
    game.play()
    assert len(states) == 5  # once for each state that is acted on
    if memory == "gru":
        # It begins empty, and the first observation, 0, leaves it so.
        assert not states[0].any()
        assert len({tuple(state.flatten().tolist()) for state in states[1:]}) == 4
