import gymnasium as gym
import numpy as np

from utils.playback.action_names import action_labels, describe_action, env_keys, is_allowed


class Core(gym.Env):
    action_space = gym.spaces.Discrete(3)

    def get_action_meanings(self):
        return ["NOOP", "UP", "DOWN"]

    def get_keys_to_action(self):
        return {("w",): 1}


class Fewer(gym.Wrapper):
    action_space = gym.spaces.Discrete(2)


def test_names_of_the_environment_then_of_the_config_then_numbers():
    space = gym.spaces.Discrete(3)
    assert action_labels(space, ["a", "b", "c"], Core()) == ("NOOP", "UP", "DOWN")
    assert action_labels(space, ["a", "b", "c"], gym.Env()) == ("a", "b", "c")
    # A config's names of six actions say nothing about another set of eighteen.
    assert action_labels(space, ["a", "b"], None) == ("action 0", "action 1", "action 2")
    wrapped = Fewer(Core())
    assert action_labels(wrapped.action_space, ["x", "y"], wrapped) == ("x", "y")


def test_names_for_every_kind_of_space():
    assert action_labels(gym.spaces.Box(-1, 1, (2,)), ["gas", "brake"], None) == ("gas", "brake")
    assert action_labels(gym.spaces.Box(-1, 1, (1, 2)), [], None) == ("entry 0", "entry 1")
    assert action_labels(gym.spaces.MultiBinary(2), [], None) == ("bit 0", "bit 1")
    multi = gym.spaces.MultiDiscrete([2, 2])
    assert action_labels(multi, ["go", "aim"], None) == ("go: 0", "go: 1", "aim: 0", "aim: 1")
    assert action_labels(multi, [], None)[2] == "part 2: 0"


def test_actions_in_words():
    assert describe_action(np.array(1), ["a", "b"], gym.spaces.Discrete(2)) == "b"
    multi = gym.spaces.MultiDiscrete([2, 3])
    labels = action_labels(multi, ["go", "aim"], None)
    assert describe_action(np.array([1, 2]), labels, multi) == "go: 1, aim: 2"
    bits = gym.spaces.MultiBinary(3)
    assert describe_action(np.array([1, 0, 1]), "abc", bits) == "a and c"
    assert describe_action(np.array([0, 0, 0]), "abc", bits) == "nothing"
    box = gym.spaces.Box(-1, 1, (2,))
    assert describe_action(np.array([0.5, -1.5]), ["gas", "x"], box) == "gas +0.50 x -1.00"


def test_masks():
    mask = np.array([True, False, True, False, True])
    discrete = gym.spaces.Discrete(5, start=3)
    assert [is_allowed(np.array(k), mask, discrete) for k in range(5)] == mask.tolist()
    multi = gym.spaces.MultiDiscrete([2, 3])  # the mask is 1 0 | 1 0 1
    assert is_allowed(np.array([0, 2]), mask, multi)
    assert not is_allowed(np.array([1, 2]), mask, multi)
    assert not is_allowed(np.array([0, 1]), mask, multi)
    bits = gym.spaces.MultiBinary(5)
    assert is_allowed(np.array([1, 0, 0, 0, 1]), mask, bits)
    assert not is_allowed(np.array([1, 1, 0, 0, 0]), mask, bits)
    assert is_allowed(np.array(1), None, discrete)


def test_own_keys_are_for_the_environments_own_actions():
    assert env_keys(Core.action_space, Core()) == {("w",): 1}
    assert env_keys(Fewer.action_space, Fewer(Core())) is None
    assert env_keys(Core.action_space, None) is None
    assert env_keys(Core.action_space, gym.make("CartPole-v1")) is None
