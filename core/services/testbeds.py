"""Testbeds: what they are drawn from, and how they are kept as a catalog with its tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.domain.imports import Imported
from core.domain.scenario_run import fingerprint
from core.domain.task import Task
from core.importers import read_tasks, tasks_text
from core.lab.testbed import Selection, Source, Testbed, drawn_testbed
from core.services.catalog_editor import CatalogEditor
from core.services.catalogs import CatalogService
from core.services.feedback import FeedbackService
from core.services.lab import LabService
from core.services.lab_runs import drawn_tasks
from core.shared.errors import WayfareError
from core.store import Store


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry file that was read: its name, and its servers with the secrets in them."""

    name: str
    imported: Imported


class TestbedService:
    """Draws and keeps. Thread-safe."""

    __test__ = False  # no class of tests

    def __init__(
        self, store: Store, catalogs: CatalogService, editor: CatalogEditor, lab: LabService, feedback: FeedbackService
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._editor = editor
        self._lab = lab
        self._feedback = feedback

    def draw(
        self,
        catalogs: Sequence[str],
        selection: Selection,
        *,
        registries: Sequence[Registry] = (),
        tasks: Sequence[Task] | None = None,
    ) -> Testbed:
        """A testbed from stored catalogs and registry files. `tasks` are labelled with tools of the first catalog; None: those that
        come with each catalog, and its labels. Raises WayfareError where there is nothing to draw from."""
        sources = [
            Source(
                name,
                self._catalogs.catalog(name).servers,
                self._tasks(name) if tasks is None else tuple(tasks) if not at else (),
            )
            for at, name in enumerate(dict.fromkeys(catalogs))
        ]
        sources += [Source(one.name, one.imported.servers) for one in registries]
        if not sources:
            raise WayfareError("There is nothing to choose servers from; give a catalog or a registry file.")
        return drawn_testbed(sources, selection)

    def keep(self, testbed: Testbed, name: str, *, registries: Sequence[Registry] = ()) -> None:
        """Keep it as a catalog, and its tasks with the catalog: the Lab lists them. Raises WayfareError."""
        if not testbed.chosen:
            raise WayfareError("No server is chosen: use fewer or other words, or other sizes.")
        servers = testbed.catalog(name).servers
        sources = ", ".join(dict.fromkeys(one.source for one in testbed.chosen))
        self._editor.keep(Imported("testbed", servers), name, f"testbed from {sources}")
        for registry in registries:
            its_own = [one.server for one in testbed.chosen if one.source == registry.name]
            self._editor.keep_secrets(name, its_own, registry.imported.secrets)
        if testbed.tasks:
            text = tasks_text(testbed.tasks)
            self._store.lab_runs.add_inputs({fingerprint(text): ("tasks", text)})
            self._store.set_setting(drawn_tasks(name), fingerprint(text))

    def _tasks(self, catalog: str) -> tuple[Task, ...]:
        shipped = [task for path in self._lab.task_sets(catalog).values() for task in self._lab.read_tasks(path)]
        labelled = self._feedback.export(catalog) if self._feedback.queries(catalog) else ""
        return (*shipped, *(read_tasks(labelled.encode(), source=f"labels of {catalog}") if labelled else ()))
