"""Rules of options without effect that several algorithms have."""

from __future__ import annotations

from utils.config.validate import EffectRule


def reads_raw_observations(reason: str) -> EffectRule:
    """Return that observations are not normalised, and why."""
    return EffectRule(
        options=("normalize_obs", "clip_obs"),
        switches=(),
        is_off=lambda config: config.normalize_obs != "none",
        reason=reason,
    )


def knows_no_masks(reason: str) -> EffectRule:
    """Return that action masks are not read, and why."""
    return EffectRule(
        options=("action_masks",),
        switches=(),
        is_off=lambda config: config.action_masks,
        reason=reason,
    )


STORES_RAW_REWARDS = EffectRule(
    options=("normalize_reward",),
    switches=(),
    is_off=lambda config: config.normalize_reward,
    reason=(
        "a reward in the buffer would keep the scale of the day that it was stored; "
        "reward_scale multiplies all of them alike"
    ),
)
DREAMS_WITHOUT_MASKS = knows_no_masks(
    "the model does not know which actions a state allows that it dreams of"
)
FILMS_NO_DREAMS = EffectRule(
    options=("dream_video",),
    switches=("video",),
    is_off=lambda config: config.video == "none",
    reason="video is none",
)
HAS_NO_PRIORITIES = EffectRule(
    options=("priority_exponent", "importance_exponent"),
    switches=("prioritized_replay",),
    is_off=lambda config: not config.prioritized_replay,
    reason="prioritized_replay is false",
)
