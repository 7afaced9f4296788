"""Published tables that one command trains as a whole: tasks, figures, cost of a training."""

from __future__ import annotations

from dataclasses import dataclass

from utils.reproduction.entries import Entry, Published

_ATARI_100K = """
    Alien 978.4 119.1
    Amidar 94.3 19.9
    Assault 629.8 77.8
    Asterix 955.3 249.6
    BankHeist 320.5 230.6
    BattleZone 18335.7 4617.3
    Boxing 79.4 5.7
    Breakout 9 1.7
    ChopperCommand 1639 244.8
    CrazyClimber 76583.3 14997.5
    DemonAttack 369.2 121.4
    Freeway 0 0
    Frostbite 3036.4 1570
    Gopher 2321.6 852.9
    Hero 13344.3 96.5
    Jamesbond 524.2 104.1
    Kangaroo 2996.1 2349.9
    Krull 7683.5 356.4
    KungFuMaster 23301.7 4398.5
    MsPacman 1525.8 240.7
    Pong -4.2 2.7
    PrivateEye 3086.7 561.8
    Qbert 2066.1 470.4
    RoadRunner 18196.9 2307.2
    Seaquest 815.5 124.6
    UpNDown 49008 38721.1
"""
_DMC_NUMBERS = """
    acrobot-swingup 134.3 24.1
    ball_in_cup-catch 961.6 7.7
    cartpole-balance 990.1 4.6
    cartpole-balance_sparse 990 20.1
    cartpole-swingup 852 14
    cartpole-swingup_sparse 490.8 369.4
    cheetah-run 613.6 22.9
    finger-spin 930.6 31.1
    finger-turn_easy 793.3 198
    finger-turn_hard 889.1 27.4
    hopper-hop 113.4 30.5
    hopper-stand 576.1 236.7
    pendulum-swingup 787.5 70.7
    reacher-easy 954.4 7.8
    reacher-hard 938.2 7.8
    walker-run 648.6 65.6
    walker-stand 964.4 13.6
    walker-walk 935.8 25.9
"""
_DMC_PICTURES = """
    acrobot-swingup 228.6 51.5
    ball_in_cup-catch 971.6 3.1
    cartpole-balance 993.5 7.2
    cartpole-balance_sparse 964.2 52.4
    cartpole-swingup 860.7 10.4
    cartpole-swingup_sparse 759.1 31.8
    cheetah-run 835.8 46
    finger-spin 589.3 134.7
    finger-turn_easy 878 29.6
    finger-turn_hard 904.3 39.9
    hopper-hop 227.4 141.6
    hopper-stand 903.3 18.3
    pendulum-swingup 744.5 177.3
    quadruped-run 616.9 69.6
    quadruped-walk 810.6 84.1
    reacher-easy 951.2 10.2
    reacher-hard 861.7 45.8
    walker-run 684.2 114.4
    walker-stand 975.6 3.2
    walker-walk 960.6 3.6
"""
_DMC_TDMPC = """
    acrobot-swingup 517.9 53.6
    cartpole-balance 974.7 33
    cartpole-balance_sparse 1000 0
    cartpole-swingup 875.9 7.9
    cartpole-swingup_sparse 841.6 9.5
    cheetah-run 844.4 84.3
    ball_in_cup-catch 985.8 3.9
    dog-run 169.9 101
    dog-stand 798.9 23.3
    dog-trot 500 13.6
    dog-walk 493.9 311.4
    finger-spin 985.7 0.9
    finger-turn_easy 918.5 86.5
    finger-turn_hard 974.6 11
    fish-swim 690.4 67.1
    hopper-hop 337.7 47.1
    hopper-stand 954.3 3.1
    humanoid-run 184.6 19.4
    humanoid-stand 663.7 26.5
    humanoid-walk 628.2 13.3
    pendulum-swingup 819.4 38
    quadruped-run 937.7 8.8
    quadruped-walk 956.3 14.8
    reacher-easy 982.7 3.9
    reacher-hard 981 2.7
    walker-run 842.3 10
    walker-stand 990.6 2.8
    walker-walk 979.7 3.4
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """All trainings of a published table."""

    summary: str
    entries: tuple[Entry, ...]
    seconds: float
    """What the updates of one training take on an H200, by `scripts/benchmark_world_models.py`
    as VIBES/PERFORMANCE.md has it."""


def _entries(rows: str, config_id: str, source: str, timesteps: str) -> tuple[Entry, ...]:
    """Read a row `task mean deviation` of each line; `config_id` has `{}` for the task."""
    entries = []
    for task, mean, spread in map(str.split, rows.split("\n")[1:-1]):
        published = Published(source, float(mean), float(spread), timesteps)
        entries.append(Entry(config_id.format(task), 5, None, (published,)))
    return tuple(entries)


TABLES = {
    "atari-100k": Table(
        summary="DreamerV3 with 200M parameters on 26 games, 400,000 frames each",
        entries=_entries(_ATARI_100K, "ALE/{}-v5:dreamer_100k", "DreamerV3", "400k frames"),
        seconds=12_500 * 0.153,
    ),
    "dmc-numbers": Table(
        summary="DreamerV3 with 12M parameters on 18 tasks by numbers, 500,000 frames each",
        entries=_entries(_DMC_NUMBERS, "dm_control/{}:dreamer", "DreamerV3", "480k frames"),
        seconds=125_000 * 0.0097,
    ),
    "dmc-pictures": Table(
        summary="DreamerV3 with 12M parameters on 20 tasks by pictures, 1,000,000 frames each",
        entries=_entries(_DMC_PICTURES, "dm_control/{}:dreamer_vision", "DreamerV3", "980k frames"),
        seconds=250_000 * 0.0195,
    ),
    "dmc-tdmpc": Table(
        summary="TD-MPC2 with 5M parameters on 28 tasks by numbers, 1,000,000 frames each",
        entries=_entries(_DMC_TDMPC, "dm_control/{}:tdmpc", "TD-MPC2", "1M frames"),
        seconds=500_000 * (0.0029 + 0.0015),
    ),
}
"""By the name that `scripts/reproduce_results.py --table` takes."""
