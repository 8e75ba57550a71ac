"""The `wayfare` command: its group, its error handling, and the table of its commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from core.cli import calling, catalogs, lab, routing, serving
from core.errors import WayfareError

COMMANDS: tuple[click.Command, ...] = (
    serving.up,
    catalogs.catalogs,
    catalogs.routers,
    catalogs.parameters,
    catalogs.import_,
    catalogs.discover,
    routing.route,
    calling.call,
    lab.bench,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wayfare", prog_name="wayfare")
def wayfare() -> None:
    """The operator's console for MCP tool routing.

    Example: wayfare route "convert 300 miles to kilometres"
    """


for command in COMMANDS:
    wayfare.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. Exits 0 on success, 2 on wrong use or bad input with one sentence on standard error."""
    try:
        wayfare.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "wayfare"
        _fail(f"{_sentence(error.format_message())} See `{where} --help`.")
    except click.ClickException as error:
        _fail(_sentence(error.format_message()))
    except click.Abort:
        sys.exit(130)
    except WayfareError as error:
        _fail(str(error))
    except BrokenPipeError:
        sys.stderr.close()  # the reader of a pipe went away: nothing is left to say


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _fail(sentence: str) -> None:
    click.echo(" ".join(sentence.split()), err=True)
    sys.exit(2)
