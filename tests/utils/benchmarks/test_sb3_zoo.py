import pytest

pytest.importorskip("stable_baselines3")

from utils.benchmarks.sb3_zoo import build_zoo_ppo


def test_the_peer_has_the_settings_of_our_config():
    from utils.config import load_config
    from utils.schedules import schedule_value

    ours = load_config("CartPole-v1:ppo")
    model = build_zoo_ppo(seed=0)
    assert (model.n_envs, model.n_steps) == (ours.n_envs, ours.n_steps)
    assert (model.batch_size, model.n_epochs) == (ours.resolved_batch_size, ours.n_epochs)
    assert (model.gamma, model.gae_lambda) == (ours.gamma, ours.gae_lambda)
    assert (model.ent_coef, model.vf_coef) == (ours.ent_coef, ours.vf_coef)
    assert model.max_grad_norm == ours.max_grad_norm
    for remaining in (1.0, 0.25):
        at = {"timesteps": round((1 - remaining) * ours.max_timesteps)}
        at["max_timesteps"] = ours.max_timesteps
        assert model.lr_schedule(remaining) == pytest.approx(schedule_value(ours.policy_lr, **at))
        assert model.clip_range(remaining) == pytest.approx(schedule_value(ours.clip_range, **at))
    hidden = [layer.out_features for layer in model.policy.mlp_extractor.policy_net[::2]]
    assert hidden == list(ours.policy_kwargs.hidden_dims)
    model.env.close()
