"""The base class of a catalog format: its name, how it is recognised, and one hook that reads it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from core.domain.imports import Imported
from core.importers.inspection import inspect
from core.importers.reading import Reading


class Importer(ABC):
    """One format. A subclass fills `matches` and `_fill`; reading is everything or nothing.

    `example` is one small document in the format: it is what help shows and what the contract tests read.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    example: ClassVar[str]

    @abstractmethod
    def matches(self, document: object) -> bool:
        """Whether the document has this format's shape, judged by its outermost keys alone."""

    def read(self, document: object, *, source: str) -> Imported:
        """The content of the document; `source` is its name in messages.

        Raises BrokenDocumentError (a CatalogError) that names every fault where there is one.
        """
        reading = Reading(source)
        inspect(reading, document)
        if not self.matches(document):
            reading.problem("", f"its shape is not that of the format {self.name}; give a document in it")
        if not reading.problems:
            self._fill(reading, document)
        return reading.finish(self.name)

    @abstractmethod
    def _fill(self, reading: Reading, document: object) -> None:
        """Add the document's servers, notes and prompts to the reading, and its faults."""
