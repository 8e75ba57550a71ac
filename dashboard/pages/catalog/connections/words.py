"""A connection as people read it before they trust it: the command as it will run, references as they stand."""

from __future__ import annotations

import json
import re
import shlex

from core.domain.catalog import Connection

_REFERENCE = re.compile(r"\$\{(?:(?:env|input|secret):)?(?P<name>[^{}]+?)(?::-[^{}]*)?\}")
_PLAIN = re.compile(r"[\w@%+=:,./${}~-]+")


def command_line(connection: Connection) -> str:
    """The command with its arguments, or the address. Values are references, never secrets.

    >>> command_line(Connection("stdio", command="${python}", args=("-m", "x y", "a;b")))
    "${python} -m 'x y' 'a;b'"
    """
    if connection.transport != "stdio":
        return _argument(connection.url)
    return " ".join(_argument(part) for part in (connection.command, *connection.args))


def connection_lines(connection: Connection) -> str:
    """Everything that is known of how a server is reached, one thing a line."""
    lines = [command_line(connection)]
    if connection.cwd:
        lines.append(f"in {_argument(connection.cwd)}")
    lines += [f"{_argument(name)}={_argument(value)}" for name, value in connection.env.items()]
    lines += [f"{_argument(name)}: {_argument(value)}" for name, value in connection.headers.items()]
    return "\n".join(lines)


def reference_name(reference: str) -> str:
    """The name that a reference stands for.

    >>> reference_name("${input:key}"), reference_name("${HOME:-/}"), reference_name("${secret:web/KEY}")
    ('key', 'HOME', 'web/KEY')
    """
    found = _REFERENCE.fullmatch(reference)
    return found["name"] if found else reference


def _argument(text: str) -> str:
    if not text.isprintable():
        return json.dumps(text)
    return text if _PLAIN.fullmatch(text) else shlex.quote(text)
