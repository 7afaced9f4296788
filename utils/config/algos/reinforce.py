"""The settings of REINFORCE."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from utils.config.algos.on_policy import ON_POLICY_EFFECT_RULES, OnPolicyConfig
from utils.config.fields import Flag, PositiveInteger
from utils.config.problems import Problem
from utils.config.validate import EffectRule


class REINFORCEConfig(OnPolicyConfig):
    """Monte Carlo policy gradient (Williams, 1992), with an optional baseline."""

    algo_id: Literal["reinforce"] = Field(description="The algorithm.")
    episodes_per_env: PositiveInteger = Field(
        default=1, description="Whole episodes of each environment in one rollout, >= 1."
    )
    policy_targets: Literal["returns", "advantages"] = Field(
        default="returns",
        description="What weighs a log-probability; advantages: returns less baseline.",
    )
    returns_type: Literal["mc:rtg", "mc:episode"] = Field(
        default="mc:rtg",
        description="mc:rtg: the return from each step on; mc:episode: of the episode.",
    )
    use_baseline: Flag = Field(default=False, description="Learn a value function as the baseline.")
    normalize_targets: Flag = Field(
        default=True, description="Give the targets of each rollout mean 0 and deviation 1."
    )

    EFFECT_RULES: ClassVar[tuple[EffectRule, ...]] = (
        *ON_POLICY_EFFECT_RULES,
        EffectRule(
            options=("vf_coef", "policy_kwargs.share_trunk"),
            switches=("use_baseline",),
            is_off=lambda config: not config.use_baseline,
            reason="use_baseline is false",
        ),
    )

    def find_inconsistencies(self) -> list[Problem]:
        """List what does not fit together in targets and baseline."""
        if self.policy_targets == "advantages" and not self.use_baseline:
            fault = "policy_targets: advantages needs use_baseline: true"
            return [Problem(("policy_targets", "use_baseline"), fault)]
        return []
