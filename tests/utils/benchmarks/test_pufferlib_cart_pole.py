import shutil

import numpy as np
import pytest

from utils.benchmarks.pufferlib_cart_pole import PufferCartPole
from utils.errors import UserError

# The shape of PufferLib's source: a struct, init, c_reset, c_step, and drawing with raylib.
SOURCE = """
#include <stdlib.h>
#include "raylib.h"
typedef struct { float* observations; float* actions; float* rewards; unsigned char* terminals;
    int tick; } Cartpole;
void init(Cartpole* env) { env->tick = 0; }
void c_reset(Cartpole* env) { env->tick = 7; }
void c_render(Cartpole* env) { DrawText(TextFormat("%i", env->tick), 1, 2, 3, (Color){0}); }
void c_step(Cartpole* env) {
    env->tick += 1;
    env->observations[3] = env->tick;
    env->rewards[0] = 2.0f * env->actions[0];
    env->terminals[0] = env->actions[0] > 0.5f;
}
"""

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@needs_compiler
def test_every_environment_gets_its_own_action_and_arrays(tmp_path):
    source = tmp_path / "cartpole.h"
    source.write_text(SOURCE)
    env = PufferCartPole(source, 3)
    actions = np.array([0, 1, 0], np.float32)
    env.step(env.prepare(actions))
    env.step(env.prepare(actions))
    assert env.observations[:, 3].tolist() == [9.0, 9.0, 9.0]
    assert env.rewards.tolist() == [0.0, 2.0, 0.0]
    assert env.terminals.tolist() == [0, 1, 0]


@needs_compiler
def test_what_cannot_be_compiled_is_told_in_one_line(tmp_path):
    with pytest.raises(UserError, match="there is no file"):
        PufferCartPole(tmp_path / "none.h", 1)
    source = tmp_path / "cartpole.h"
    source.write_text("this is no C")
    with pytest.raises(UserError, match="does not compile"):
        PufferCartPole(source, 1)
