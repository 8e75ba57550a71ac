"""The first catalog: 81 MCP servers, fifteen of them runnable, with declared economics and labelled tasks."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent
SERVERS_DIR = ROOT / "servers"
TASKS_DIR = ROOT / "tasks"
EQUAL_SETS = ROOT / "equal_sets.json"
DISTINCT_PAIRS = ROOT / "distinct_pairs.json"
VECTORS = ROOT / "vectors"
REQUESTS = ROOT / "requests"
PLAYED = ROOT / "played.json"
