"""PufferLib's CartPole, compiled from its C source with the compiler's best flags."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from utils.errors import UserError

FLAGS = ("-O3", "-march=native", "-ffast-math")

# The source draws with raylib; what is never called need not be there.
_RAYLIB = """
#include <stdbool.h>
typedef struct { unsigned char r, g, b, a; } Color;
typedef struct { float x, y; } Vector2;
#define KEY_ESCAPE 0
#define KEY_TAB 0
static inline void InitWindow(int w, int h, const char* t) {}
static inline void SetTargetFPS(int f) {}
static inline void CloseWindow(void) {}
static inline bool IsKeyDown(int k) { return 0; }
static inline bool IsKeyPressed(int k) { return 0; }
static inline void ToggleFullscreen(void) {}
static inline void BeginDrawing(void) {}
static inline void EndDrawing(void) {}
static inline void ClearBackground(Color c) {}
static inline void DrawLine(int a, int b, int c, int d, Color e) {}
static inline void DrawRectangle(int a, int b, int c, int d, Color e) {}
static inline void DrawLineEx(Vector2 a, Vector2 b, float c, Color d) {}
static inline void DrawText(const char* t, int a, int b, int c, Color d) {}
static inline const char* TextFormat(const char* t, ...) { return t; }
"""

# What its Python binding does for each step of all environments, without the log.
_LOOP = """
#include "cartpole.h"
void* build(int n, float* observations, void* actions, float* rewards, unsigned char* terminals) {
    Cartpole* envs = calloc(n, sizeof(Cartpole));
    for (int i = 0; i < n; i++) {
        envs[i].observations = observations + 4 * i;
        envs[i].actions = (__typeof__(envs[i].actions))actions + i;
        envs[i].rewards = rewards + i;
        envs[i].terminals = terminals + i;
        init(envs + i);
        c_reset(envs + i);
    }
    return envs;
}
void step_all(Cartpole* envs, int n, const float* actions) {
    for (int i = 0; i < n; i++) {
        envs[i].actions[0] = actions[i];
        c_step(envs + i);
    }
}
"""


class PufferCartPole:
    """PufferLib's environments, stepped through ctypes: cheaper than its own Python."""

    def __init__(self, source: Path, n_envs: int) -> None:
        """Compile the source and build the environments.

        Args:
            source: PufferLib's `cartpole.h`.
            n_envs: Number of environments.

        Raises:
            UserError: There is no compiler, or the source does not compile.
        """
        self._library = _compile(source)
        self._library.build.restype = ctypes.c_void_p
        self.observations = np.zeros((n_envs, 4), np.float32)
        self._actions = np.zeros(n_envs, np.float64)  # room for any type of theirs
        self.rewards = np.zeros(n_envs, np.float32)
        self.terminals = np.zeros(n_envs, np.uint8)
        arrays = (self.observations, self._actions, self.rewards, self.terminals)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        self._envs = ctypes.c_void_p(self._library.build(n_envs, *pointers))
        self._n_envs = n_envs

    def prepare(self, actions: np.ndarray) -> ctypes.c_void_p:
        """Return the address of actions (N,) float32, that the caller keeps alive."""
        assert actions.dtype == np.float32, actions.dtype
        return ctypes.c_void_p(actions.ctypes.data)

    def step(self, address: ctypes.c_void_p) -> None:
        """Step all environments with prepared actions."""
        self._library.step_all(self._envs, self._n_envs, address)


def _compile(source: Path) -> ctypes.CDLL:
    compiler = shutil.which("cc")
    if compiler is None:
        raise UserError("--pufferlib-source needs a C compiler: there is no 'cc'")
    if not source.is_file():
        raise UserError(f"--pufferlib-source: there is no file {source}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "raylib.h").write_text(_RAYLIB, encoding="utf-8")
        (folder / "cartpole.h").write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "loop.c").write_text(_LOOP, encoding="utf-8")
        library = folder / "cartpole.so"
        command = [compiler, *FLAGS, "-w", "-shared", "-fPIC", "-I", name, str(folder / "loop.c")]
        done = subprocess.run(
            [*command, "-o", str(library), "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"--pufferlib-source does not compile: {done.stderr[:300].strip()}")
        return ctypes.CDLL(str(library))
