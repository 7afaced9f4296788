"""A saved view of a W&B project that shows our metrics as the console orders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from utils.errors import MissingDependencyError, UserError
from utils.loggers.log_writer import TIMESTEPS_KEY
from utils.loggers.tracker import VIDEO_KEY
from utils.metrics_config import MetricsConfig, load_metrics_config

VIEW_NAME = "gymnasium-solver"
# W&B finds a view by this name and not by the one that people see; a fixed one makes ours unique.
_SLUG = "gymsolverv1"
_SUMMARY_KEYS = ("val/best/ep_rew_mean", "val/solved/timesteps", "test/best/ep_rew_mean")
_OPEN_GROUPS = ("val/roll", "train/roll")
_MOST_RUNS = 500

Outcome = Literal["created", "replaced", "kept"]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A view that is saved."""

    url: str
    outcome: Outcome
    selected_run: str | None
    """The one run that is shown; None where the choice was left alone."""


def setup_dashboard(
    *, project: str, entity: str | None = None, overwrite: bool = False, select_latest: bool = False
) -> Dashboard:
    """Save the view in a project, once; a view that people have changed is left alone.

    Args:
        project: Name of the project.
        entity: User or team; None for that of the key.
        overwrite: Whether to put our panels back into a view that exists.
        select_latest: Whether to show the newest run and hide the others.

    Raises:
        MissingDependencyError: `wandb` or `wandb-workspaces` is not installed.
        UserError: W&B cannot be reached, or refuses.
    """
    try:
        import wandb
        import wandb_workspaces.workspaces as ws
    except ImportError as error:
        raise MissingDependencyError(
            "wandb-workspaces", extra="wandb", needed_for="setup_wandb_dashboard.py"
        ) from error
    from wandb.sdk.lib.service.service_connection import WandbApiFailedError

    wandb.setup(settings=wandb.Settings(silent=True))
    try:
        api = wandb.Api(timeout=20)
        owner = entity or api.default_entity
        view = _find_view(ws, api, owner, project)
        outcome: Outcome = "created" if view is None else "replaced" if overwrite else "kept"
        if view is None:
            view = ws.Workspace(name=VIEW_NAME, entity=owner, project=project)
            view._internal_name = f"nw-{_SLUG}-v"
        if outcome != "kept":
            view.sections = build_sections(load_metrics_config())
            view.settings = ws.WorkspaceSettings(x_axis=TIMESTEPS_KEY)
        selected = _select_latest(ws, api, view) if select_latest else None
        if outcome != "kept" or selected is not None:
            view.save()
        return Dashboard(view.url, outcome, selected)
    except (wandb.errors.Error, WandbApiFailedError, ValueError) as error:
        raise UserError(f"W&B: {str(error).partition(chr(10))[0]}") from error


def build_sections(config: MetricsConfig) -> list[Any]:
    """Return the sections: what matters first, then one for each group of the metrics file."""
    import wandb_workspaces.reports.v2 as wr
    import wandb_workspaces.workspaces as ws

    highlights = [
        f"{group}/{name}"
        for group, spec in config.groups.items()
        for name, metric in spec.metrics.items()
        if metric.highlight
    ]
    overview = [
        *(_line_plot(key) for key in highlights),
        wr.MediaBrowser(title="Episode", media_keys=[VIDEO_KEY]),
        *(wr.ScalarChart(title=key, metric=key) for key in _SUMMARY_KEYS),
    ]
    return [
        ws.Section(name="Overview", panels=overview, is_open=True, pinned=True),
        *(
            ws.Section(
                name=f"{spec.title} ({group})",
                panels=[_line_plot(f"{group}/{name}") for name in spec.metrics],
                is_open=group in _OPEN_GROUPS,
            )
            for group, spec in config.groups.items()
        ),
    ]


def _line_plot(key: str) -> Any:
    import wandb_workspaces.reports.v2 as wr

    return wr.LinePlot(title=key, x=TIMESTEPS_KEY, y=[key])


def _find_view(ws: Any, api: Any, entity: str, project: str) -> Any:
    """Return our view of a project; None where it has none."""
    url = f"{api.settings['base_url']}/{entity}/{project}?nw={_SLUG}"
    try:
        return ws.Workspace.from_url(url)
    except ValueError as error:
        if "not found in project" not in str(error):
            raise
        return None


def _select_latest(ws: Any, api: Any, view: Any) -> str:
    """Show the newest run and hide the others; returns its name."""
    runs: Sequence[Any] = api.runs(
        f"{view.entity}/{view.project}", order="-created_at", per_page=100
    )[:_MOST_RUNS]
    if not runs:
        raise ValueError(f"{view.entity}/{view.project} has no runs yet")
    newest, *others = runs
    hidden = {run.id: ws.RunSettings(disabled=True) for run in others}
    view.runset_settings.run_settings = {newest.id: ws.RunSettings(disabled=False), **hidden}
    return str(newest.name)
