"""Launchers of clusters give the weights that as many processes of one machine give."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.commands import LONGEST_SECONDS, ROOT, only_run, small
from tests.helpers.saved_states import differences
from tests.helpers.together import train_together

SHORT = small(max_timesteps=512, test_episodes=2)
TWICE_TWO = ["--devices", "2", "--num-nodes", "2"]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    """Return the last checkpoint of four processes of this machine."""
    folder = tmp_path_factory.mktemp("four")
    ended = train_together(4, *SHORT, "--devices", "4", runs_dir=folder)
    assert [f.code for f in ended] == [0] * 4, ended
    return only_run(folder).checkpoint("@last")


def run_all(commands, *, environments, folder):
    """Run commands side by side to their ends."""
    with open(folder / "output.txt", "w") as output:
        processes = [
            subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            for command, environment in zip(commands, environments, strict=True)
        ]
        try:
            codes = [process.wait(LONGEST_SECONDS) for process in processes]
        finally:
            for process in processes:
                process.kill()
    assert codes == [0] * len(codes), (folder / "output.txt").read_text()


def test_two_agents_of_torchrun_are_four_processes_of_one_machine(tmp_path, four):
    """Both agents are on this machine, and find each other by a file."""
    meeting = ["--rdzv-backend", "c10d", "--rdzv-conf", "store_type=file"]
    meeting += ["--rdzv-endpoint", str(tmp_path / "meeting"), "--rdzv-id", "test"]
    launch = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2"]
    launch += ["--nproc-per-node", "2", *meeting, "--local-addr", "127.0.0.1"]
    train = ["train.py", "-q", *SHORT, *TWICE_TWO, "--runs-dir", str(tmp_path / "runs")]
    run_all([[*launch, *train]] * 2, environments=[{}, {}], folder=tmp_path)
    assert differences(only_run(tmp_path / "runs").checkpoint("@last"), four) == []


def test_the_tasks_of_slurm_are_four_processes_of_one_machine(tmp_path, four):
    """The variables that `srun` sets for each task of two machines; both are this one."""
    job = {
        # The leader listens at a port that SLURM's number of the job chooses.
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NAME": "pong",
        "SLURM_STEP_ID": "0",
        "SLURM_NTASKS": "4",
        "SLURM_NTASKS_PER_NODE": "2",
        "SLURM_NNODES": "2",
        "SLURM_NODELIST": "localhost",
    }
    tasks = [
        job | {"SLURM_PROCID": f"{i}", "SLURM_LOCALID": f"{i % 2}", "SLURM_NODEID": f"{i // 2}"}
        for i in range(4)
    ]
    train = [sys.executable, "train.py", "-q", *SHORT, *TWICE_TWO]
    run_all(
        [[*train, "--runs-dir", str(tmp_path / "runs")]] * 4, environments=tasks, folder=tmp_path
    )
    assert differences(only_run(tmp_path / "runs").checkpoint("@last"), four) == []
