"""Tries every configured environment briefly, each in a process of its own.

The trials themselves import what they need when they run.
"""

from utils.smoke.trials import Trial, TrialResult, run_trials, trial_table

__all__ = ["Trial", "TrialResult", "run_trials", "trial_table"]
