"""What runs on each worker of a cluster: an app over a copy of the store, which routes what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from core.app import App, build_app
from core.domain.catalog import Catalog
from core.domain.params import Parameters
from core.importers import read_tasks
from core.lab.execution import Routed
from core.store import Store
from core.store.connection import Table

OpenApp = Callable[[Store], App]


class Worker:
    """Routes parts of the work. What it is given and what it gives are plain values."""

    def __init__(self, tables: Mapping[str, Table], opened: OpenApp = build_app) -> None:
        self._app = opened(Store.of_tables(tables))
        self._sent: dict[str, Catalog] = {}

    def ready(self) -> bool:
        """Answers as soon as the app is open."""
        return True

    def routed(self, catalog: Catalog, router: str, tasks: str, hints: bool, parameters: Parameters) -> list[Routed]:
        """These tasks, each routed."""
        read = read_tasks(tasks.encode(), source="the cluster")
        return list(
            self._app.lab.routed(
                read, catalog=self._known(catalog), router=router, parameters=parameters, server_hints=hints
            )
        )

    def points(
        self, catalog: Catalog, router: str, tasks: str, hints: bool, points: Sequence[Parameters]
    ) -> list[Mapping[str, Any]]:
        """The measures of each of these points."""
        read = read_tasks(tasks.encode(), source="the cluster")
        return list(self._app.sweeps.measured(read, points, catalog=self._known(catalog), router=router, hints=hints))

    def _known(self, catalog: Catalog) -> str:
        """The catalog's name. One that is not in the store, such as a file's, is taken as it was sent; it is sent with every part,
        and indexed again only where its content is another."""
        stored = {info.name for info in self._app.catalogs.infos()}
        if catalog.name not in stored and self._sent.get(catalog.name) != catalog:
            self._app.catalogs.add(catalog, "sent to a worker")
            self._sent[catalog.name] = catalog
        return catalog.name
