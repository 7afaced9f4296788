import re

import pytest

from tests.helpers.config_files import load_ppo, ppo_problems
from utils.config.validate import OPTIMIZERS

SHAPED = "env_wrappers: [{id: MountainCarEnergy, gamma: 0.99}]\n"
UNJUDGED = "eval_freq_epochs: null\ntest_episodes: 0\n"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ("n_workers: 5\n", "n_workers 5 exceeds n_envs 4"),
        ("channel_order: none\ngrayscale_obs: true\n", "'grayscale_obs' needs a picture"),
        ("channel_order: none\nresize_obs: [84, 84]\n", "'resize_obs' needs a picture"),
        (f"gamma: 0.9\n{SHAPED}", "'env_wrappers.0.gamma' is 0.99 and gamma is 0.9"),
        (f"gamma: {{start: 0.99, end: 0.99}}\n{SHAPED}", "gamma follows a schedule"),
        ("env_kwargs: {render_mode: human}\n", "'render_mode' is chosen by the program"),
        ("optimizer: adamw\n", "unknown optimizer 'adamw': did you mean 'AdamW'?"),
        ("optimizer_kwargs: {lr: 1}\n", "'lr' is no optimizer option: set 'policy_lr'"),
        ("optimizer_kwargs: {params: 1}\n", "'params' is no optimizer option"),
        ("ent_coef: {start: 1, end: 0, from: 0.5, to: 0.2}\n", "timestep 500 and ends it at 200"),
        ("ent_coef: {start: 1, end: 0, from: 0.5, to: 100}\n", "timestep 500 and ends it at 100"),
        ("early_stop_on_eval_reward: true\neval_freq_epochs: null\n", "needs evaluations"),
        ("eval_n_envs: 11\n", "eval_n_envs 11 exceeds eval_episodes 10"),
        (
            "n_workers: 2\nvectorization: sync\n",
            "'n_workers' has no effect: only vectorization: async",
        ),
        ("n_workers: 2\nvectorization: torch\n", "'n_workers' has no effect"),
        ("start_method: fork\nvectorization: simd\n", "'start_method' has no effect"),
        ("clip_obs: 5.0\n", "'clip_obs' has no effect: only normalize_obs: rolling"),
        ("clip_obs: 5.0\nnormalize_obs: static\n", "'clip_obs' has no effect"),
        ("clip_reward: 5.0\n", "'clip_reward' has no effect: normalize_reward is false"),
        (
            "normalize_reward: true\nreward_scale: 0.1\n",
            "'reward_scale' has no effect: normalize_reward gives rewards a scale of its own",
        ),
        ("eval_freq_epochs: null\neval_episodes: 3\n", "'eval_episodes' has no effect"),
        (f"{UNJUDGED}eval_n_envs: 3\n", "'eval_n_envs' has no effect: .* test_episodes is 0"),
        (f"{UNJUDGED}eval_timeout_seconds: 3.0\n", "'eval_timeout_seconds' has no effect"),
        ("eval_freq_epochs: null\nvideo: best\n", "'video' has no effect: .* no evaluation runs"),
        ("eval_freq_epochs: null\nvideo: every\n", "'video' has no effect"),
        ("eval_freq_epochs: null\nvideo_max_steps: 9\n", "'video_max_steps' has no effect"),
        ("video: none\nvideo_max_steps: 9\n", "'video_max_steps' has no effect"),
        ("eval_freq_timesteps: 9\neval_warmup_epochs: 3\n", "'eval_warmup_epochs' has no effect"),
        (
            "action_masks: true\nenv_wrappers: [{id: FrameSkip, skip: 4}]\n",
            "FrameSkip repeats an action also where 'action_masks' no longer allows it",
        ),
        ("wandb_project: x\n", "'wandb_project' has no effect: wandb is false"),
    ],
)
def test_what_does_not_fit_together(tmp_path, extra, expected):
    (line,) = ppo_problems(tmp_path, extra)
    assert expected in line or re.search(expected, line), line


@pytest.mark.parametrize(
    "extra",
    [
        "n_workers: 4\n",
        f"gamma: 0.99\n{SHAPED}",
        "gamma: 1.0\nenv_wrappers: [{id: MountainCarEnergy, gamma: 1}]\n",
        "gamma: {start: 0.9, end: 0.99}\nenv_wrappers: [{id: ClipReward, low: 0.9}]\n",
        "env_kwargs: {seed: 3, description: x}\n",
        "optimizer_kwargs: {weight_decay: 0.1}\n",
        "ent_coef: {start: 1, end: 0, from: 0.5, to: 0.5}\n",
        "ent_coef: {start: 1, end: 0, to: 9000}\n",
        "clip_obs: 5.0\nnormalize_obs: rolling\n",
        "eval_freq_timesteps: 9\neval_episodes: 3\n",
        # The test at the end of a run goes by these too.
        "eval_freq_epochs: null\neval_n_envs: 30\neval_timeout_seconds: 3.0\n",
        # Playing and filming a policy does.
        f"{UNJUDGED}eval_deterministic: false\neval_max_episode_steps: 9\n",
        "eval_freq_epochs: null\nvideo: last\nvideo_max_steps: 9\n",
        "eval_freq_epochs: null\nvideo: none\n",
    ],
)
def test_what_fits_together(tmp_path, extra):
    load_ppo(tmp_path, extra)


def test_a_run_shorter_than_a_rollout_is_allowed(tmp_path):
    assert load_ppo(tmp_path, "", "max_timesteps=5").max_timesteps == 5


def test_the_optimizers_are_those_of_torch():
    optim = pytest.importorskip("torch.optim")
    classes = {name for name in vars(optim) if isinstance(getattr(optim, name), type)}
    others = {
        "LBFGS",  # needs a closure
        "Muon",  # matrices only
        "Optimizer",
        "SparseAdam",  # sparse gradients only
    }
    assert set(OPTIMIZERS) == classes - others
