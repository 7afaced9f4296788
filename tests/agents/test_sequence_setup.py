"""What somebody writes of a model's shape has an effect, or is refused."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Dict

from agents.sequence_setup import check_shape
from tests.helpers.config_files import write_variants
from utils.config import config_from_dict, load_config
from utils.errors import ConfigError

PLAIN = "max_timesteps: 100000\nn_envs: 1\n"
TINY = "deter: 64, hidden: 64, units: 64"
VARIANTS = {
    "v3": f"algo_id: dreamer\n{PLAIN}policy_kwargs: {{size: tiny}}\n",
    "v2": f"algo_id: dreamer\nversion: 2\n{PLAIN}policy_kwargs: {{{TINY}, classes: 8}}\n",
    "planet": f"algo_id: planet\n{PLAIN}policy_kwargs: {{{TINY}}}\n",
    "tdmpc": f"algo_id: tdmpc\n{PLAIN}",
    "tdmpc_v1": f"algo_id: tdmpc\nversion: 1\n{PLAIN}",
}
PICTURE = Box(0, 255, (3, 64, 64), np.uint8)
NUMBERS = Box(-1.0, 1.0, (2,))
SPACES = {"numbers": NUMBERS, "picture": PICTURE, "both": Dict(a=PICTURE, b=NUMBERS)}
OVERRULED = "'policy_kwargs.size' has no effect: every width is given"


def load(folder, variant, *overrides):
    write_variants(folder, **VARIANTS)
    return load_config(f"Toy-v0:{variant}", overrides, config_dir=folder)


@pytest.mark.parametrize(
    ("variant", "space", "override", "text"),
    [
        # A gaussian latent has no classes, and numbers need no depth.
        ("planet", "numbers", "size=200M", f"{OVERRULED} (deter, hidden, units)"),
        ("v2", "numbers", "size=200M", f"{OVERRULED} (deter, hidden, classes, units)"),
        ("v3", "numbers", "depth=77", "'policy_kwargs.depth' has no effect on the observation"),
        ("v3", "numbers", "pictures=strided", "'policy_kwargs.pictures' has no effect"),
        ("v3", "picture", "encoder_layers=5", "it holds nothing but pictures"),
        ("planet", "picture", "decoder_layers=5", "'policy_kwargs.decoder_layers' has no effect"),
        ("tdmpc", "numbers", "channels=3", "'policy_kwargs.channels' has no effect"),
        ("tdmpc", "numbers", "picture_shift=0", "'policy_kwargs.picture_shift' has no effect"),
        ("tdmpc", "picture", "encoder_dim=3", "'policy_kwargs.encoder_dim' has no effect"),
    ],
)
def test_what_nothing_reads_is_refused(tmp_path, variant, space, override, text):
    config = load(tmp_path, variant, f"policy_kwargs.{override}")
    with pytest.raises(ConfigError) as caught:
        check_shape(config, SPACES[space])
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)
    # A saved config holds all defaults, and nobody wrote them.
    check_shape(config_from_dict(config.to_dict()), SPACES[space])


@pytest.mark.parametrize(
    ("variant", "space", "override"),
    [
        ("planet", "picture", "size=200M"),  # gives the depth
        ("v2", "both", "size=200M"),
        ("v3", "numbers", "size=1M"),
        ("v3", "picture", "depth=77"),
        ("v3", "both", "encoder_layers=5"),
        ("tdmpc_v1", "numbers", "size=tiny"),
        ("tdmpc", "both", "encoder_dim=3"),
    ],
)
def test_what_is_read_may_be_written(tmp_path, variant, space, override):
    check_shape(load(tmp_path, variant, f"policy_kwargs.{override}"), SPACES[space])


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("space", SPACES)
def test_what_a_version_sets_is_not_written(tmp_path, variant, space):
    check_shape(load(tmp_path, variant), SPACES[space])


def test_widths_of_a_later_layer_overrule_the_size_of_the_file(tmp_path):
    widths = [f"policy_kwargs.{name}=32" for name in ("deter", "hidden", "classes", "units")]
    config = load(tmp_path, "v3", *widths)
    check_shape(config, NUMBERS)
    assert config.policy_kwargs.units == 32
    with pytest.raises(ConfigError, match=r"policy_kwargs\.size.* has no effect"):
        check_shape(load(tmp_path, "v3", *widths, "policy_kwargs.size=1M"), NUMBERS)


def test_a_size_of_the_first_td_mpc_that_is_named_is_meant(tmp_path):
    assert load(tmp_path, "tdmpc_v1").policy_kwargs.latent_dim == 50
    shape = load(tmp_path, "tdmpc_v1", "policy_kwargs.size=tiny").policy_kwargs
    assert shape.named_size == "tiny"
    assert shape.simplex_dim == 0  # still of the version
