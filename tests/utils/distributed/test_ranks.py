"""Who a process is, as its launcher says."""

import pytest

from utils.distributed import Ranks, Share, read_ranks
from utils.distributed.ranks import STORE_FILE, check_ranks
from utils.errors import ConfigError

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "4",
}
SLURM = {
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS_PER_NODE": "4",
}


def test_torchrun_slurm_and_train_itself_say_who_a_process_is():
    assert read_ranks(TORCHRUN) == Ranks(5, 8, 1, 4, "torchrun")
    assert read_ranks(SLURM) == Ranks(5, 8, 1, 4, "slurm")
    own = TORCHRUN | {STORE_FILE: "/tmp/x"}
    del own["TORCHELASTIC_RUN_ID"]
    assert read_ranks(own) == Ranks(5, 8, 1, 4, "train.py")


def test_a_process_without_a_launcher_is_alone():
    assert read_ranks({}) is None
    assert read_ranks({"RANK": "1", "WORLD_SIZE": "2"}) is None  # of some other program
    assert read_ranks(TORCHRUN | {"WORLD_SIZE": "1", "RANK": "0"}) is None
    in_sbatch_without_srun = {k: v for k, v in SLURM.items() if k != "SLURM_STEP_ID"}
    assert read_ranks(in_sbatch_without_srun) is None
    assert read_ranks({"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}) is None


def test_what_a_launcher_has_not_set_is_named():
    lacking = {k: v for k, v in SLURM.items() if k != "SLURM_NTASKS_PER_NODE"}
    with pytest.raises(ConfigError, match="no SLURM_NTASKS_PER_NODE; give sbatch --ntasks"):
        read_ranks(lacking)
    with pytest.raises(ConfigError, match="torchrun has set no LOCAL_RANK"):
        read_ranks(TORCHRUN | {"LOCAL_RANK": ""})


def test_other_processes_than_the_config_asks_for_are_refused():
    check_ranks(read_ranks(TORCHRUN), devices=4, num_nodes=2)
    check_ranks(None, devices=4, num_nodes=1)
    with pytest.raises(ConfigError, match="give --devices 4 --num-nodes 2"):
        check_ranks(read_ranks(TORCHRUN), devices=8, num_nodes=1)
    with pytest.raises(ConfigError, match="torchrun or srun"):
        check_ranks(None, devices=4, num_nodes=2)


def test_shares_are_a_partition():
    shares = [Share.of_rank(12, rank=rank, size=3) for rank in range(3)]
    assert shares == [Share(0, 4, 12), Share(4, 4, 12), Share(8, 4, 12)]
