from tests.helpers.config_files import load_reinforce, reinforce_problems


def test_advantages_need_a_baseline(tmp_path):
    (line,) = reinforce_problems(tmp_path, "policy_targets: advantages\n")
    assert line.endswith("policy_targets: advantages needs use_baseline: true")
    config = load_reinforce(tmp_path, "policy_targets: advantages\nuse_baseline: true\n")
    assert config.policy_targets == "advantages"


def test_settings_of_the_critic_have_no_effect_without_one(tmp_path):
    extra = "vf_coef: 0.4\npolicy_kwargs: {share_trunk: true}\n"
    lines = reinforce_problems(tmp_path, extra)
    assert [line.partition("': ")[2] for line in lines] == [
        "'vf_coef' has no effect: use_baseline is false",
        "'policy_kwargs.share_trunk' has no effect: use_baseline is false",
    ]
    assert load_reinforce(tmp_path, extra + "use_baseline: true\n").vf_coef == 0.4


def test_return_types_with_a_colon_need_no_quotes(tmp_path):
    assert load_reinforce(tmp_path, "returns_type: mc:episode\n").returns_type == "mc:episode"
    config = load_reinforce(tmp_path, "", "returns_type=mc:episode")
    assert config.returns_type == "mc:episode"
