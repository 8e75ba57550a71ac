"""Links from a task to its decisions: on Route under the parameters of a run, on Compare under those of both."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from core.app import App
from core.domain.lab_runs import LabRun
from core.domain.params import Value
from core.domain.tasks import Task
from core.shared.errors import WayfareError
from dashboard.ui.variants import variant_text


def changed(app: App, run: LabRun) -> dict[str, Value] | None:
    """The parameters of a run that differ from the router's defaults; None where they do not exist any more."""
    try:
        return app.routing.parameters(run.router, run.parameters).changed()
    except WayfareError:
        return None


def route_link(run: LabRun, values: Mapping[str, Value] | None, task: Task) -> str:
    """The address of the decision of a run; "" where its parameters are gone."""
    if values is None:
        return ""
    return f"/?{urlencode({**_asked(run, task), 'router': run.router, **values})}"


def compare_link(runs: Mapping[LabRun, Mapping[str, Value] | None], task: Task) -> str:
    """The address of the decisions of several runs beside each other."""
    variants = [variant_text(run.router, values) for run, values in runs.items() if values is not None]
    return f"/compare?{urlencode({**_asked(next(iter(runs)), task), 'with': ','.join(variants)})}"


def _asked(run: LabRun, task: Task) -> dict[str, str]:
    asked = {"q": task.subtask, "hint": task.server_hint if run.hints else "", "catalog": run.catalog}
    return {name: text for name, text in asked.items() if text}
