"""One store, several processes, of which DuckDB lets only one at a time open the file.

A console keeps it. Commands run in the console; one that began before the console asks at its door to have the file for a moment. A
command has the file only while it reads or writes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from core.domain.console import CONNECT_S, announced_owner, asked
from core.domain.errors import WayfareError

LOOK_S = 0.05
"""Time between two looks whether a use has ended."""
PAUSE_S = 0.1
"""A pause of this length is the end of a use: a command that reads and writes at once is not interrupted."""
LONGEST_S = 1.0
"""A command that uses the store without a pause gives the file away after this time."""
BREATH_S, RETRY_S = 0.03, 0.01
"""A command that gave the file away takes it again after the first; processes that wait try at intervals of the second."""
LENT_S = 0.3
"""A console that was asked for the file leaves it alone for so long."""
LOST_S = 60.0
"""A command that had the file waits longer for it: the console that took it may just be starting."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """How a process shares the store. A console `stays`: it keeps the file until a command asks for it, and a journal. A command keeps
    the file only while it reads or writes. `patience_s` is how long either waits for the file."""

    stays: bool
    patience_s: float = 5.0


CONSOLE = Sharing(stays=True)
COMMAND = Sharing(stays=False)


def ask_for_file(db: Path) -> None:
    """Asks the console for the file, if a console has it."""
    if (owner := announced_owner(db)) is not None:
        with suppress(WayfareError):
            asked(owner, "PUT", answers_s=CONNECT_S)
