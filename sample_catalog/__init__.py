"""A catalog to start with: 81 MCP servers of which fifteen really run, declared economics and labelled tasks."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent
SERVERS_DIR = ROOT / "servers"
TASKS_DIR = ROOT / "tasks"
EQUAL_SETS = ROOT / "equal_sets.json"
DISTINCT_PAIRS = ROOT / "distinct_pairs.json"
VECTORS = ROOT / "vectors"
