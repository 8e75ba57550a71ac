"""A catalog to start with: fifteen MCP servers that really run, their declared economics and labelled sub-tasks."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent
SERVERS_DIR = ROOT / "servers"
TASKS_DIR = ROOT / "tasks"
