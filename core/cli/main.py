"""The `wayfare` command: its group, its error handling, and the table of its commands."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from core.shared.errors import StoreBusyError, WayfareError

COMMANDS = {  # name: module of core.cli and the command in it; loaded when it is asked for
    "up": ("serving", "up"),
    "catalogs": ("catalogs", "catalogs"),
    "routers": ("catalogs", "routers"),
    "parameters": ("catalogs", "parameters"),
    "import": ("catalogs", "import_"),
    "discover": ("catalogs", "discover"),
    "route": ("routing", "route"),
    "call": ("routing", "call"),
    "agent": ("agent", "agent"),
    "mcp": ("serving", "mcp"),
    "virtual": ("catalogs", "virtual"),
    "multiply": ("catalogs", "multiply"),
    "testbed": ("scenario", "testbed"),
    "lint": ("catalogs", "lint"),
    "bench": ("lab", "bench"),
    "sweep": ("runs", "sweep"),
    "runs": ("runs", "runs"),
    "replay": ("papers", "replay"),
    "audit": ("clients", "audit"),
    "clients": ("clients", "clients"),
    "policy": ("clients", "policy"),
    "secrets": ("secrets", "secrets"),
    "approvals": ("clients", "approvals"),
    "label": ("calibration", "label"),
    "judgments": ("judgments", "judgments"),
    "calibrate": ("calibration", "calibrate"),
    "scenario": ("scenario", "scenario"),
    "papers": ("papers", "papers_command"),
    "train-encoder": ("training", "train_encoder"),
}


class Commands(click.Group):
    """The group of all commands: starting the console does not load what only the others need."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every name, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of a name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name]
        return getattr(import_module(f"core.cli.{module}"), attribute)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wayfare", prog_name="wayfare")
def wayfare() -> None:
    """The operator's console for MCP tool routing.

    Example: wayfare route "convert 300 miles to kilometres"
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. Exits 0 on success, 2 on wrong use or bad input with one sentence on standard error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal does not have is no reason to fail
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        _run(words)
    except click.exceptions.NoArgsIsHelpError:
        _fail("Name a command. See `wayfare --help`.")
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "wayfare"
        _fail(f"{_sentence(error.format_message())} See `{where} --help`.")
    except click.ClickException as error:
        _fail(_sentence(error.format_message()))
    except click.Abort:
        sys.exit(130)
    except WayfareError as error:
        _fail(_sentence(str(error)))
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away: nothing is left to say


def _run(words: list[str]) -> None:
    """One command; where another process has the store, in that one, if it takes commands."""
    try:
        wayfare.main(words, prog_name="wayfare", standalone_mode=False)
    except StoreBusyError as error:
        from core.cli.joining import joined

        command = wayfare.get_command(click.Context(wayfare), words[0])
        code = 2 if command is None else joined(command, words[0], words[1:], error)
        if code:
            sys.exit(code)


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _fail(sentence: str) -> None:
    click.echo(" ".join(sentence.split()), err=True)
    sys.exit(2)
