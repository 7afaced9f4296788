"""Look into the episodes of a trained policy in the browser: `python run_inspect.py`."""

from __future__ import annotations

import os
import sys
from typing import Any

from utils.errors import exit_on_user_error
from utils.inspection import parse_inspect_args, plan_inspect
from utils.lazy_imports import collector_paused, postpone_library_parts


def main() -> int:
    """Parse the command line, find the run, serve the page until Ctrl-C."""
    # Mistakes about runs, options and the port are told before anything heavy is imported.
    plan = plan_inspect(parse_inspect_args(sys.argv[1:]))
    with plan.listener:
        # Gradio reads both while it is imported; no request leaves this machine.
        os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
        os.environ["HF_HUB_OFFLINE"] = "1"
        with collector_paused():
            from utils.inspection.server import serve

        serve(plan, build_studio)
    return 0


def build_studio(progress: Any) -> Any:
    """Import what makes recordings; the page is there already."""
    with collector_paused():
        postpone_library_parts()

        from agents.loading import load_policy
        from utils.inspection.studio import Studio

    return Studio(load_policy, progress)


if __name__ == "__main__":
    exit_on_user_error(main)
