"""Labels of sub-tasks, and calls that ended well: what is learnt from."""

from __future__ import annotations

from core.domain.feedback import Label, Worked
from core.shared.errors import UnknownNameError
from core.store.connection import Database
from core.store.log import Log, entry

WORKED = """
SELECT o.id, d.subtask, d.server_hint, o.server || '::' || o.tool AS tool
FROM outcomes o JOIN decisions d ON d.id = o.decision_id
WHERE o.catalog = ? AND d.catalog = o.catalog AND o.kind = 'ok' AND NOT o.simulated AND o.injected = ''
ORDER BY o.sequence DESC LIMIT ?
"""


class Labels:
    """Append-only: a label that was written stays, and an entry that names it takes it back."""

    def __init__(self, database: Database, log: Log) -> None:
        self._database = database
        self._log = log

    def append(self, *labels: Label) -> None:
        """Commit labels together. Raises StoreError, and keeps none of them, where one cannot be stored."""
        self._log.write([entry(label) for label in labels])

    def history(self, catalog: str) -> tuple[Label, ...]:
        """Every entry of a catalog in order of commit, those that take labels back among them."""
        return tuple(self._log.read(Label, "catalog = ?", [catalog]))

    def find(self, id_: str) -> Label:
        """A label by id. Raises UnknownNameError where there is none, or where it was taken back."""
        label = next(self._log.read(Label, "id = ?", [id_]), None)
        if label is None or label.retracts:
            raise UnknownNameError(f"There is no label {id_!r}; choose one of those that the catalog has.")
        if next(self._log.read(Label, "retracts = ?", [id_]), None) is not None:
            raise UnknownNameError(f"The label {id_} was taken back already; there is nothing left to take back.")
        return label

    def worked(self, catalog: str, *, limit: int) -> tuple[Worked, ...]:
        """The newest real calls of a catalog that ended well on a decision, newest first. Simulated calls and those under an
        injected network are no evidence."""
        rows = self._database.read(WORKED, [catalog, limit]).to_pylist()
        return tuple(Worked(row["id"], row["subtask"], row["server_hint"], row["tool"]) for row in rows)
