"""The `wayfare` command: its group, its error handling, and the table of its commands."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.domain.errors import StoreBusyError, WayfareError

if TYPE_CHECKING:
    from core.domain.console import Owner

# name: the module of core.cli, the command in it, and its line in `wayfare --help`. The module is imported when the command is called.
COMMANDS = {
    "up": ("serving", "up", "Start the console and print its URL."),
    "status": ("store", "status", "Show the console that serves the store, and who uses it."),
    "stop": ("store", "stop", "End the console that serves the store, and wait until it has ended."),
    "catalogs": ("servers", "catalogs", "List the catalogs, with changes of the files that they follow; take or ignore these."),
    "routers": ("routers", "routers", "List the routing algorithms."),
    "parameters": ("routers", "parameters", "List a router's parameters with unit, range and default."),
    "backup": ("store", "backup", "Write one file with the store and the values of its servers, while a console runs or not."),
    "restore": ("store", "restore", "Verify a backup and put it in the place of the store, which is kept beside it."),
    "export": ("store", "export", "Write catalogs, clients and the policy as a folder of readable files, for git or another store."),
    "apply": ("store", "apply", "Show what a folder of `wayfare export` would change, and with --yes take it in."),
    "import": ("catalogs", "import_", "Import catalogs or client configurations as one catalog, all or nothing."),
    "discover": ("catalogs", "discover", "Connect to the servers of a client configuration and import their current tools."),
    "route": ("routing", "route", "Decide which tool gets a sub-task, and show why."),
    "call": ("routing", "call", "Make one MCP call and record its outcome."),
    "check": ("routing", "check", "Check whether the tools of a job are there, healthy, allowed for the client and within budget."),
    "agent": ("agent", "agent", "Work on a question: split it, route each sub-task, call its candidates until one succeeds."),
    "mcp": ("serving", "mcp", "Serve Wayfare to one MCP client on standard input and output: a few tools give access to all tools of the catalog."),
    "setup": ("catalogs", "setup", "Print the exact text that connects CLIENT, and tell whether its first request has come."),
    "virtual": ("virtual", "virtual", "Serve one server of a catalog over real MCP with simulated results, by default on stdio."),
    "record": ("virtual", "record", "Record the real answers of a server, with times and failures and without secrets, into a file; or list what is recorded."),
    "multiply": ("virtual", "multiply", "Make a new catalog with virtual copies of one server: other names, words and numbers."),
    "testbed": ("virtual", "testbed", "Draw a testbed: servers whose texts contain any of the WORDS, and tasks that their tools can do."),
    "override": ("catalogs", "override", "Describe a tool or a server in your own words, without touching the server, or take its own words back."),
    "findable": ("requests", "findable", "Estimate from example requests how often each tool would be found, the worst first, and what it is taken for."),
    "lint": ("requests", "lint", "Find poor descriptions, colliding names, broken schemas and text that tries to instruct a model."),
    "tasks": ("lab", "tasks", "Write labelled tasks for any catalog: direct and contextual questions, chains, impossible ones."),
    "bench": ("lab", "bench", "Measure how well routers rank the right tools."),
    "sweep": ("runs", "sweep", "Measure a router under many parameters."),
    "runs": ("runs", "runs", "List the stored runs and sweeps, newest first."),
    "replay": ("runs", "replay", "Decide recorded sub-tasks again, with the statistics of their time, and compare winners and their costs."),
    "pin": ("clients", "pin", "List a tool directly to clients of /mcp, beside search_tools, or print the pinned tools."),
    "audit": ("clients", "audit", "Verify the log: decisions, calls, labels, judgments, approvals and denials, and changes of parameters, prices, calibrations, clients and policies."),
    "clients": ("clients", "clients", "List the clients of the endpoint and the people at the pages, add one, change what one may use, or revoke one."),
    "policy": ("clients", "policy", "Show the policy for agents as TOML, import one, or export it to a file: approvals, budgets, rates, breakers, lists."),
    "server": ("servers", "server", "Add one server to a catalog, remove it, switch it off or on, restart it, or take its tools live again."),
    "secrets": ("secrets", "secrets", "List the values that the servers of a catalog need, set or remove one, hide a written one, or show one that is no secret."),
    "signin": ("secrets", "signin", "Sign in to a server over HTTP in the browser, sign out, or list the servers that may need it."),
    "approvals": ("clients", "approvals", "List the calls, with their arguments, and the changed definitions that wait for a person, and approve or deny one."),
    "requests": ("requests", "requests", "Import, export, undo or have a model write example requests of tools, which make decisions better."),
    "label": ("labels", "label", "Label a tool as right or wrong for a sub-task."),
    "judgments": ("labels", "judgments", "List the judgment sets of a catalog, import or export one."),
    "calibrate": ("labels", "calibrate", "Fit relevance, the probability of fit and Tool Attention's threshold to labels, and judge the fit on held-back folds."),
    "scenario": ("papers", "scenario", "Run routers through a network scenario."),
    "papers": ("papers", "papers_command", "Recompute the tables of the papers, as far as possible without a model, and write the files of the Papers page."),
    "train-encoder": ("training", "train_encoder", "Tune the encoder that estimates fit; about 15 minutes on two cores."),
}  # fmt: skip


TRIES = 3


class ServedError(StoreBusyError):
    """A console serves the store, and runs the command."""

    def __init__(self, db: Path | str, owner: Owner) -> None:
        super().__init__(f"The store {db} is in use by the console on {owner.url}; stop it with `wayfare stop`.")
        self.owner = owner


class Commands(click.Group):
    """The group of all commands. A command's module is imported when the command is called, not for the list of `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        return getattr(import_module(f"core.cli.{module}"), attribute)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Writes the names with their lines, as click does, from the table alone."""
        width = formatter.width - 6 - max(map(len, COMMANDS))
        with formatter.section("Commands"):
            formatter.write_dl([
                (name, click.Command(name, help=line).get_short_help_str(width)) for name, (_, _, line) in COMMANDS.items()
            ])  # fmt: skip


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="wayfare", prog_name="wayfare")
def wayfare() -> None:
    """The operator's console for MCP tool routing.

    Example: wayfare route "convert 300 miles to kilometres"
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command. Exits 0 on success, 2 on wrong use or bad input with one sentence on standard error."""
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - None if its descriptor is closed
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a character that the terminal lacks is no reason to fail
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
    except OSError as error:  # a folder without leave, a full disk
        where = f"{error.filename}: " if error.filename else ""
        _fail(
            f"{where}{error.strerror or error}. Make room or give leave there, or name another place with --db or WAYFARE_CACHE."
        )


def _run(words: list[str]) -> None:
    """Runs one command: in the console that serves the store, if there is one. If that console ends meanwhile, the command runs here."""
    for tries in range(1, TRIES + 1):
        try:
            wayfare.main(words, prog_name="wayfare", standalone_mode=False, obj=words)
        except ServedError as error:
            from core.cli.joining import joined

            code = joined(error.owner, words)
            if code is None and tries < TRIES:
                continue
            if code is None:
                raise
            if code:
                sys.exit(code)
        return


def _sentence(text: str) -> str:
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def _fail(sentence: str) -> None:
    click.echo(" ".join(sentence.split()), err=True)
    sys.exit(2)
