"""A family whose package is not installed says so in one line, and leaves nothing behind."""

import subprocess
import sys
from pathlib import Path

import pytest

from utils.config import CONFIG_DIR
from utils.config.catalog import environment_files
from utils.environment.families.table import FAMILIES, family_of

ROOT = Path(__file__).resolve().parents[4]
CONFIGS = {
    family_of(file.base["env_id"]).name: file.config_ids[0]
    for file in environment_files(CONFIG_DIR)
}
NEEDY = [family for family in FAMILIES if family.packages and family.name in CONFIGS]

# An import of a blocked package fails as it does where it is not installed.
BLOCKED_MAIN = """
import runpy, sys
for name in sys.argv.pop(1).split(","):
    sys.modules[name] = None
sys.path.insert(0, {root!r})
sys.argv[0] = {train!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("family", NEEDY, ids=lambda family: family.name)
def test_one_line_names_the_package_and_the_extra(family, tmp_path):
    script = tmp_path / "blocked.py"
    script.write_text(BLOCKED_MAIN.format(root=str(ROOT), train=str(ROOT / "train.py")))
    packages = ",".join(family.packages)
    arguments = [packages, CONFIGS[family.name], "-q", "--runs-dir", str(tmp_path / "runs")]
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert f"needs the package '{family.packages[0]}'" in line
    assert f"pip install 'gymnasium-solver[{family.extra}]'" in line
    assert [path.name for path in tmp_path.iterdir()] == ["blocked.py"]


def test_every_family_of_the_table_that_needs_a_package_is_tried():
    assert {family.name for family in NEEDY} >= {"Box2D", "MuJoCo", "DM Control", "MiniGrid"}


def test_the_extras_install_the_packages():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for family in FAMILIES:
        assert family.extra is None or family.extra in extras, family
