import io

from utils.playback.episodes import PlayedEpisode
from utils.playback.human import HumanEpisode
from utils.playback.results import (
    Report,
    compare_with_policy,
    describe_mean,
    episode_header,
    episode_row,
)
from utils.rollouts import EvaluationResult


def episode(seed, episode_return, *, length=10, end="terminated"):
    return PlayedEpisode(seed=seed, episode_return=episode_return, length=length, end=end)


def own(seed, episode_return, *, n_policy_steps=0, n_tries=1, **facts):
    return HumanEpisode(
        episode=episode(seed, episode_return, **facts),
        n_policy_steps=n_policy_steps,
        n_tries=n_tries,
    )


def test_means_are_told_with_what_is_known():
    def result(returns, n_unfinished=0):
        return EvaluationResult(
            returns=returns,
            lengths=[1] * len(returns),
            n_unfinished=n_unfinished,
            seconds=0.0,
            seed=0,
            is_deterministic=True,
        )

    assert describe_mean(result([3.0])) == "return 3.00 (1 episode: no interval)"
    several = result([1.0, 3.0], 1)
    half_width = several.confidence_half_width()
    assert describe_mean(several) == (
        f"mean return 2.00 ± {half_width:,.2f} (95 %, 2 episodes; 1 cut, in no mean)"
    )


def test_rows_stand_in_columns():
    assert [episode_header(), episode_row(0, episode(470237576, -1234.5, end="cut"))] == [
        "episode        seed      return  length  end",
        "      1   470237576   -1,234.50      10  cut by --max-steps",
    ]


def test_the_person_stands_beside_the_policy():
    human = [own(3, 10.0), own(4, 20.0, n_policy_steps=4, n_tries=2, end="truncated")]
    lines = compare_with_policy(human, [episode(3, 400.0), episode(4, 500.0)])
    assert lines == [
        "episode        seed         you      policy  your end",
        "      1           3       10.00      400.00  terminated after 10 steps",
        "      2           4       20.00      500.00  time limit after 10 steps, 4 of them the "
        "policy's, try 2",
        "   mean                   15.00      450.00",
    ]
    assert compare_with_policy([], []) == ["no episode was played to its end"]


def test_lines_are_kept_back_until_they_are_released():
    stream = io.StringIO()
    report = Report(stream)
    report.tell("a")
    report.hold()
    report.tell("b")
    assert stream.getvalue() == "a\n"
    report.release()
    report.tell("c")
    assert stream.getvalue() == "a\nb\nc\n"
