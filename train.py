"""Train an agent: `python train.py CartPole-v1:ppo`."""

from __future__ import annotations

import shutil
import sys

from utils.config.catalog import list_configs
from utils.config.cli import parse_train_args
from utils.distributed.ranks import calling_off, check_ranks, read_ranks
from utils.errors import exit_on_user_error
from utils.lazy_imports import collector_paused, postpone_library_parts


def main() -> int:
    """Parse the command line, then list, resume or train, one run or a group of seeds."""
    ranks = read_ranks()
    if ranks is not None and not ranks.is_leader:
        from agents.together import follow

        return follow(ranks)
    with calling_off(ranks):
        args = parse_train_args(sys.argv[1:])
        if args.list_envs is not None:
            from utils.environment.families.extras import missing_extras

            width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
            print(list_configs(args.list_envs, missing_extras=missing_extras, width=width))
            return 0
        # Config errors are told before anything heavy is imported.
        with collector_paused():
            from utils.run.plan import plan_training, resumed_group

            if args.seeds is not None or resumed_group(args) is not None:
                from utils.seed_groups import run_seeds

                check_ranks(ranks, devices=1, num_nodes=1)
                return run_seeds(args)
            plan = plan_training(args)
            from utils.distributed.launcher import Followers

            followers = Followers.of_config(plan.config, ranks)
            postpone_library_parts()

            from agents.training import train

    return train(plan, ranks=ranks, followers=followers)


if __name__ == "__main__":
    exit_on_user_error(main)
