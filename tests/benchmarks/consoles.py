"""Consoles for measurements, started as an operator starts them, each with a store, a log and its memory."""

from __future__ import annotations

import json
import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.app import open_app
from core.domain.settings import Settings
from tests.browser.serving import Program, free_port
from tests.importing import import_text

READY_S = 120.0
SAID_CHARS = 6_000
TRACEBACK = "Traceback (most recent call last)"


@dataclass
class Console:
    """`wayfare up` on a store."""

    db: Path
    port: int
    environment: Mapping[str, str]
    program: Program | None = None

    @property
    def url(self) -> str:
        """The console's address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """The output of all starts."""
        return self.db.with_suffix(".log")

    @property
    def tracebacks(self) -> int:
        """The number of tracebacks in the log."""
        return self.log.read_text("utf-8", errors="replace").count(TRACEBACK)

    def start(self) -> None:
        """Start it, and return when a decision is made at once."""
        line = ["-m", "core.cli", "up", "--port", str(self.port), "--db", str(self.db)]
        python = sys.executable  # a fork of another process would have its memory
        self.program = Program(line, f"{self.url}/healthz", self.log, self.environment, python=python)
        deadline = time.monotonic() + READY_S
        while not self._is_ready():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.url} did not get ready")
            time.sleep(0.05)

    def stop(self) -> None:
        """Sends SIGTERM. The console writes its queue."""
        if self.program is not None:
            self.program.stop()

    def resident_mb(self) -> float:
        """Without child processes, MB."""
        status = Path(f"/proc/{self.program.pid}/status").read_text("utf-8") if self.program is not None else ""
        match = re.search(r"^VmRSS:\s+(\d+) kB", status, re.MULTILINE)
        return int(match[1]) / 1024 if match else 0.0

    def cpu_s(self) -> float:
        """Seconds of processor time that it has used."""
        if self.program is None:
            return 0.0
        fields = Path(f"/proc/{self.program.pid}/stat").read_text("utf-8").rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=5) as answer:
                return json.load(answer)["status"] == "ready"
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False


@contextmanager
def console(folder: Path, *, catalogs: Mapping[str, str] | None = None, **environment: str) -> Iterator[Console]:
    """A running console over the sample, with further catalogs as documents; ended afterwards."""
    program = Console(folder / "bench.duckdb", free_port(), environment)
    with open_app(Settings.from_environment(db=program.db)) as app:
        for name, text in (catalogs or {}).items():
            import_text(app.catalog_editor, text, name)
    try:
        program.start()
        yield program
    finally:
        program.stop()
        if program.tracebacks:
            print(
                f"{program.tracebacks} tracebacks in what the console said:\n{program.log.read_text('utf-8', errors='replace')[:SAID_CHARS]}"
            )
