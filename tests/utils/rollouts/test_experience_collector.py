from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.helpers.policies import build_linear_policy
from tests.helpers.vector_envs import CountingVectorEnv, encode
from utils.errors import EnvironmentFailedError
from utils.rollouts.experience_collector import Decision, ExperienceCollector, Step

CPU = torch.device("cpu")


class Counts:
    """An explorer whose n-th decision is n everywhere, stored as 1000 + n; warm-ups are 7."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.seen: list[list[float]] = []

    def decide(self, observation, *, mask, timesteps) -> Decision:
        self.asked.append(timesteps)
        self.seen.append(observation[:, 2].tolist())
        n = len(self.asked)
        size = len(observation)
        return Decision(torch.full((size,), n), torch.full((size,), 1000 + n))

    def draw(self, n, *, mask) -> Decision:
        return Decision(torch.full((n,), 7), torch.full((n,), 7))

    def state_dict(self):
        return {"n": len(self.asked)}

    def load_state_dict(self, state) -> None:
        self.asked = [0] * state["n"]


def copied(step: Step) -> Step:
    parts = [part.numpy() if isinstance(part, torch.Tensor) else part for part in step]
    return Step(*(None if part is None else np.array(part) for part in parts))


def collect(env, n_vec_steps: int, *, is_random: bool = False):
    collector = ExperienceCollector(env, build_linear_policy(env), Counts(), device=CPU)
    collector.reset(seed=3)
    steps: list[Step] = []
    collector.collect(n_vec_steps, is_random=is_random, write=lambda s: steps.append(copied(s)))
    return collector, steps


def numbers(observation: np.ndarray) -> list[int]:
    return [int(encode(*row)) for row in observation]


def test_every_step_is_handed_on_with_what_it_led_to() -> None:
    env = CountingVectorEnv([2, 3], ends=["terminated", "truncated"])
    collector, steps = collect(env, 3)
    assert [step.stored_action.tolist() for step in steps] == [[1001] * 2, [1002] * 2, [1003] * 2]
    # (env, episode, step): environment 0 begins episode 1 after two steps, environment 1 after 3.
    assert [numbers(step.next_observation) for step in steps] == [
        [1, 101],
        [10, 102],
        [11, 110],
    ]
    assert steps[0].final_observation is None
    # Only the rows of those that ended count.
    assert numbers(steps[1].final_observation[:1]) == [2]
    assert numbers(steps[2].final_observation[1:]) == [103]
    assert [step.terminated.tolist() for step in steps] == [
        [False, False],
        [True, False],
        [False, False],
    ]
    assert [step.truncated.tolist() for step in steps] == [
        [False, False],
        [False, False],
        [False, True],
    ]
    assert collector.explorer.asked == [0, 2, 4]  # timesteps before each decision
    assert collector.timesteps == 6


def test_a_summary_is_of_what_came_since_the_last() -> None:
    env = CountingVectorEnv([2, 3])
    collector, _ = collect(env, 3)
    first = collector.summarize()
    assert (first.n_timesteps, first.n_vec_steps, first.n_episodes) == (6, 3, 2)
    assert first.last_returns == [2.0, 3.0]
    collector.collect(1, is_random=True, write=lambda step: None)
    second = collector.summarize()
    assert (second.n_timesteps, second.n_episodes, second.last_returns) == (2, 1, [2.0])
    assert second.episode_returns == [2.0, 3.0, 2.0]  # the window reaches back
    assert collector.summarize().n_timesteps == 0


def test_a_warm_up_asks_nobody() -> None:
    collector, steps = collect(CountingVectorEnv([5]), 3, is_random=True)
    assert collector.explorer.asked == []
    assert [step.stored_action.tolist() for step in steps] == [[7]] * 3


def test_an_end_that_is_not_finite_stops_the_run_though_nothing_follows_it() -> None:
    class Bad(CountingVectorEnv):
        def step(self, actions):
            *rest, infos = super().step(actions)
            if "final_obs" in infos:
                infos["final_obs"] = np.full_like(infos["final_obs"], np.nan)
            return *rest, infos

    with pytest.raises(EnvironmentFailedError, match="final observation"):
        collect(Bad([2]), 2)


def test_the_normaliser_learns_from_each_step_once() -> None:
    env = CountingVectorEnv([5, 5])
    policy = build_linear_policy(env, normalize_obs="rolling")
    collector = ExperienceCollector(env, policy, Counts(), device=CPU)
    collector.reset(seed=3)
    collector.collect(4, is_random=True, write=lambda step: None)
    assert float(policy.normalizer.moments.count) == pytest.approx(8, abs=1e-3)


def test_what_is_done_meanwhile_comes_between_the_last_choice_and_its_outcome() -> None:
    env = CountingVectorEnv([5, 5])
    collector = ExperienceCollector(env, build_linear_policy(env), Counts(), device=CPU)
    collector.reset(seed=3)
    written: list[Step] = []
    seen: list[tuple[int, int, int]] = []
    learnt = torch.zeros((), requires_grad=True)

    def meanwhile() -> None:
        seen.append((len(collector.explorer.asked), len(written), collector.timesteps))
        (learnt * 2.0).backward()  # gradients can be had

    collector.collect(3, is_random=False, write=written.append, meanwhile=meanwhile)
    assert seen == [(3, 2, 4)]
    assert (len(written), collector.timesteps) == (3, 6)
    assert learnt.grad == 2.0
    collector.collect(0, is_random=False, write=written.append, meanwhile=meanwhile)
    assert len(seen) == 1
