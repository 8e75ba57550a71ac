"""The command line: a contract that scripts rely on. One document or one sentence, exit 0 or 2, never a traceback.

A command is a function in a module of this room and an entry of `main.COMMANDS`, so that starting a command does not load the others.
Commands call the services of `core.app`; `options.py` has the options that several share, `apps.py` opens the app.
"""

from core.cli.main import main

__all__ = ["main"]
