"""The trainer drives the loop of one process, whatever launcher's variables lie about."""

import pytest
from lightning.pytorch.plugins.environments import LightningEnvironment

from utils.trainer_factory import build_trainer

BATCH_JOB = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_JOB_NAME": "pong",
    "SLURM_NTASKS": "4",
    "SLURM_NTASKS_PER_NODE": "4",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "0",
    "SLURM_NODELIST": "node[01-02]",
}


@pytest.mark.parametrize("missing", [(), ("SLURM_NTASKS_PER_NODE",)])
def test_a_process_of_a_batch_job_without_srun_trains_alone(monkeypatch, missing):
    for name, value in BATCH_JOB.items():
        if name not in missing:
            monkeypatch.setenv(name, value)
    trainer = build_trainer(device="cpu", callbacks=[])
    assert (trainer.world_size, trainer.num_nodes, trainer.global_rank) == (1, 1, 0)
    # One that Lightning takes for SLURM is requeued by it, with a checkpoint of its own.
    assert type(trainer._accelerator_connector.cluster_environment) is LightningEnvironment
