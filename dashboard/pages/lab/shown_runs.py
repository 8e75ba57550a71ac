"""The stored runs over a task set, as every part of the page that shows runs is given them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.app import App
from core.domain.lab_runs import LabRun
from core.domain.tasks import Task
from dashboard.ui.url_state import UrlState


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """Runs with their names by id, the tasks that all of them were over, and where fields begin: session and link."""

    app: App
    state: UrlState
    linked: Mapping[str, str]
    runs: Sequence[LabRun]
    names: Mapping[str, str]
    tasks: Sequence[Task]
