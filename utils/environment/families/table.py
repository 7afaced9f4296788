"""The table of families: which ids belong to which, longest prefix first."""

from __future__ import annotations

from utils.environment.families.family import Family

STANDARD = Family(name="Gymnasium", prefixes=("",))
"""Whatever Gymnasium, or the module in front of an id, has registered."""

# A vector step over processes costs some 50 microseconds more, and the cores share the work. On
# 2 cores CarRacing gains a factor of 1.7, VizDoom of 1.5, LunarLander nothing, and CartPole loses
# one of 2.
FAMILIES: tuple[Family, ...] = (
    Family(
        name="CarRacing", prefixes=("CarRacing-",), packages=("Box2D",), extra="box2d", is_slow=True
    ),
    Family(
        name="Box2D",
        prefixes=(
            "LunarLander-",
            "LunarLanderContinuous-",
            "BipedalWalker-",
            "BipedalWalkerHardcore-",
        ),
        packages=("Box2D",),
        extra="box2d",
    ),
    Family(
        name="MuJoCo",
        prefixes=(
            "Ant-",
            "HalfCheetah-",
            "Hopper-",
            "Humanoid-",
            "HumanoidStandup-",
            "InvertedDoublePendulum-",
            "InvertedPendulum-",
            "Pusher-",
            "Reacher-",
            "Swimmer-",
            "Walker2d-",
        ),
        packages=("mujoco",),
        extra="mujoco",
        make="utils.environment.families.mujoco:make",
    ),
    Family(
        name="DM Control",
        prefixes=("dm_control/",),
        packages=("mujoco", "dm_control"),
        extra="dm-control",
        register="utils.environment.families.dm_control:register",
        make="utils.environment.families.dm_control:make",
    ),
    Family(
        name="Brax",
        prefixes=("brax/",),
        packages=("jax", "brax"),
        extra="brax",
        register="gym_envs.brax.registration:register",
    ),
    Family(
        name="MiniGrid",
        prefixes=("MiniGrid-", "BabyAI-"),
        packages=("minigrid",),
        extra="minigrid",
        register="utils.environment.families.minigrid:register",
        make="utils.environment.families.minigrid:make",
    ),
    Family(
        name="Toy text",
        prefixes=(
            "FrozenLake-",
            "FrozenLake8x8-",
            "CliffWalking-",
            "CliffWalkingSlippery-",
            "Taxi-",
        ),
        native="utils.environment.families.toy_text",
    ),
    Family(
        name="Bandit",
        prefixes=("Bandit-",),
        register="gym_envs.bandits.registration:register",
        native="gym_envs.bandits.native",
    ),
    Family(
        name="Example",
        prefixes=("Example-",),
        register="gym_envs.example_env.registration:register",
    ),
    Family(
        name="Spotlight",
        prefixes=("Spotlight-",),
        register="gym_envs.spotlight.registration:register",
    ),
    Family(
        name="Obstacle",
        prefixes=("Obstacle-",),
        register="gym_envs.obstacle.registration:register",
    ),
    Family(
        name="PushT",
        prefixes=("gym_pusht/",),
        packages=("gym_pusht",),
        extra="pusht",
        register="utils.environment.families.pusht:register",
    ),
    Family(
        name="Atari",
        prefixes=("ALE/",),
        packages=("ale_py",),
        extra="atari",
        register="utils.environment.families.atari:register",
        is_slow=True,
        native="utils.environment.families.atari",
    ),
    Family(
        name="VizDoom",
        prefixes=("VizDoom-",),
        packages=("vizdoom",),
        extra="vizdoom",
        register="gym_envs.vizdoom.registration:register",
        make="utils.environment.families.vizdoom:make",
        is_slow=True,
    ),
    Family(
        name="Retro",
        prefixes=("Retro/",),
        packages=("stable_retro",),
        extra="retro",
        register="gym_envs.retro.registration:register",
        check="gym_envs.retro.roms:check_rom",
        one_per_process=True,
    ),
    Family(
        name="CcaS-CcaR",
        prefixes=("CcasCcar-",),
        register="gym_envs.ccas_ccar.registration:register",
        native="gym_envs.ccas_ccar.native",
    ),
    STANDARD,
)


def family_of(env_id: str) -> Family:
    """Return the family that an id belongs to: the one with the longest fitting prefix.

    Args:
        env_id: The id, with or without the `module:` that registers it.
    """
    name = env_id.rpartition(":")[2]
    fitting = [
        (len(prefix), family)
        for family in FAMILIES
        for prefix in family.prefixes
        if name.startswith(prefix)
    ]
    return max(fitting, key=lambda pair: pair[0])[1]


def missing_extra(env_id: str) -> str | None:
    """Return the extra of this project that an id needs and that is not installed; None for none.

    Args:
        env_id: The id, with or without the `module:` that registers it.
    """
    family = family_of(env_id)
    return None if family.missing_package() is None else family.extra
