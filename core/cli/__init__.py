"""The command line: a contract that scripts rely on. One document or one sentence, exit 0 or 2, never a traceback."""

from core.cli.main import main

__all__ = ["main"]
