"""One publication from the run to the Hub, told as it goes."""

from __future__ import annotations

import shutil
import sys
from typing import TextIO

from utils.publishing.folder import LoadPolicy, Publication, write_publication
from utils.publishing.hub import Hub
from utils.publishing.plan import PublishPlan
from utils.publishing.target import Target
from utils.storage import storage_errors, temporary_folder
from utils.text_tables import counted


def publish(
    plan: PublishPlan, target: Target, load_policy: LoadPolicy, *, stream: TextIO | None = None
) -> None:
    """Publish a policy, or write what would be published; nothing is sent before all is ready.

    Args:
        plan: What to publish.
        target: Where to; without a connection the files are only written.
        load_policy: See `LoadPolicy`.
        stream: Where the text goes; standard output if None.

    Raises:
        UserError: It was not published, and nothing half-made is left.
    """
    stream = stream or sys.stdout
    if target.hub is None:
        _write_only(plan, target.repo_id, load_policy, stream)
    else:
        _upload(plan, target.repo_id, target.hub, load_policy, stream)


def _upload(
    plan: PublishPlan, repo_id: str, hub: Hub, load_policy: LoadPolicy, stream: TextIO
) -> None:
    with temporary_folder(prefix="publish-") as folder:
        made = write_publication(
            plan, folder, repo_id=repo_id, token=hub.token, load_policy=load_policy
        )
        _tell(plan, made, stream)
        upload = hub.upload(
            repo_id,
            made.files,
            is_private=plan.args.is_private,
            summary=f"{plan.config.config_id}: mean_reward {made.results.mean_reward}",
        )
    if upload.is_new:
        print(f"published {upload.url} (commit {upload.commit[:7]})", file=stream)
    else:
        print(f"{upload.url} holds all of this already: no commit was made", file=stream)
    print(f"play it with  python run_play.py --repo {repo_id}", file=stream)


def _write_only(plan: PublishPlan, repo_id: str, load_policy: LoadPolicy, stream: TextIO) -> None:
    with temporary_folder(plan.output.absolute().parent, prefix=".publish-") as folder:
        made = write_publication(plan, folder, repo_id=repo_id, token=None, load_policy=load_policy)
        _tell(plan, made, stream)
        with storage_errors(plan.output):
            folder.chmod(0o755)
            shutil.rmtree(plan.output, ignore_errors=True)
            folder.rename(plan.output)
    kind = "the private repository " if plan.args.is_private else ""
    told = f"dry run: written to {plan.output}, to be {kind}{repo_id}; nothing was sent"
    print(told, file=stream)


def _tell(plan: PublishPlan, made: Publication, stream: TextIO) -> None:
    results = made.results
    how = "greedy" if results.is_deterministic else "sampled"
    n = len(results.episodes)
    lines = [
        f"{plan.config.config_id}, run {plan.run.id}, {plan.checkpoint.stem}",
        f"mean_reward {results.mean_reward} ({counted(n, 'fresh episode')}, "
        f"seeds {results.seed} to {results.seed + n - 1}, {how} actions)",
        *(f"note: {note}" for note in (*plan.notes, *made.notes)),
        *(f"  {name:18}{_size(path.stat().st_size):>10}" for name, path in made.files.items()),
    ]
    print("\n".join(lines), file=stream, flush=True)


def _size(n_bytes: int) -> str:
    for unit, size in (("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= size:
            return f"{n_bytes / size:,.1f} {unit}"
    return f"{n_bytes} B"
