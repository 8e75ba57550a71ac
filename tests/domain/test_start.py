"""A start imports no package and no room that only a later step needs. Counted in a new process; no time is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cases import each

PACKAGES = (
    "confusable_homoglyphs", "duckdb", "faiss", "faker", "genai_prices", "httpx2", "jsonschema_rs", "mcp", "numpy", "onnx",
    "onnxruntime", "openai", "optuna", "pandas", "plotly", "pyarrow", "pydantic", "scipy", "sklearn", "streamlit", "tokenizers",
    "torch", "transformers",
)  # fmt: skip
OF_A_LIST = ("jsonschema_rs", "numpy")
OF_A_DECISION = (
    *OF_A_LIST,
    "bpe_openai",
    "duckdb",
    "onnxruntime",
    "pandas",
    "pyarrow",
    "tokenizers",
)  # pandas: a new store's first write of many rows
ROOMS = (
    "core.gateway",
    "core.governance",
    "core.lab",
    "core.lint",
    "core.servers",
    "core.relevance.tuning",
    "core.virtual",
    "core.decisions",
)
COMMAND = "from core.cli.main import main\ntry: main({})\nexcept SystemExit: pass"
SCORED = """
from core.app import Settings, open_app
with open_app(Settings.from_environment(db=":memory:")) as app:
    assert app.scoreboard.task_sets("sample")
"""
DECISION = """
from core.app import Settings, open_app
with open_app(Settings.from_environment(db=":memory:")) as app:
    assert app.routing.route("convert 300 miles to kilometres").candidates
"""


def imported(code: str, cache: Path) -> set[str]:
    """Returns the modules that a new process has after this code."""
    code = f"import sys\n{code}\nprint(*sys.modules)"
    environment = {**os.environ, "WAYFARE_CACHE": str(cache)}
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    return set(process.stdout.splitlines()[-1].split())


@each(
    ("code", "packages", "rooms"),
    [
        (COMMAND.format(["--help"]), (), ()),
        (COMMAND.format(["routers"]), OF_A_LIST, ("core.governance", "core.virtual")),
        (DECISION, OF_A_DECISION, ("core.governance", "core.decisions")),
        (SCORED, OF_A_DECISION, ROOMS),
    ],
)
def test_a_start_imports_what_it_uses_and_nothing_else(
    code: str, packages: tuple[str, ...], rooms: tuple[str, ...], encoder_cache: Path
) -> None:
    modules = imported(code, encoder_cache)
    assert modules & set(PACKAGES) <= set(packages)
    assert {room for room in ROOMS if any(name.startswith(room) for name in modules)} <= set(rooms)
