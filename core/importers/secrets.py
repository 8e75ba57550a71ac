"""Keeps secrets out of catalogs. A literal value becomes a reference, and the value stays in memory.

After reading, references have three forms: `${env:NAME}`, `${input:id}` and `${secret:<server>/<NAME>}`. The ways in which clients write an
environment variable (`${NAME}`, `${NAME:-default}`, a whole value `$NAME`, those of `connections.py`) become the first; `${python}`, the
running interpreter, stays. A default that may be a secret becomes a secret: `${env:NAME:-${secret:<server>/<NAME>}}`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.domain.catalog import Prompt
from core.domain.leaks import DEFAULT, HARMLESS, PLACEHOLDER, hide_beside, hide_leaks, plain_value, telling
from core.importers.entry import Entry

EDITOR_VARIABLES = frozenset(
    {"workspaceFolder", "workspaceFolderBasename", "workspaceRoot", "userHome", "pathSeparator", "cwd"}
)
_REFERENCE = re.compile(
    r"\$\{(?:env:(?P<env>[A-Za-z_]\w*)|(?P<scheme>input|secret):(?P<key>[^{}\x00-\x1f]+?)|(?P<bare>[A-Za-z_]\w*))"
    rf"(?::-(?P<default>{DEFAULT}))?\}}"
)
_WHOLE_VARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_FOREIGN = re.compile(r"\$\{\w+:|\$\(")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_SURELY_FLAG = re.compile(r"--[A-Za-z][\w-]*(?:=.*)?|-[A-Za-z]", re.DOTALL)
_SHORT_FLAG = re.compile(r"-[kKpPtT]")
"""A key, a password or a token by one letter; a port, a path, a transport and a time limit as well."""
_SHORT_IN_TEXT = re.compile(r"(?<!\S)(?P<flag>-[kKpPtT])(?P<between>\s+|=)(?P<value>[^\s\"'=;|&<>()-][^\s\"';|&<>()]*)")
_NO_SECRET = re.compile(
    r"[\d.,:x%-]+(?:ms|s|m|h|d|k|[kmg]b)?(?:/(?:tcp|udp))?"  # numbers, ports, times, sizes, versions, addresses
    r"|[\w.-]+:\d+"  # hosts with a port
    r"|\.{1,2}|(?:\.{0,2}|~|[A-Za-z]:)[/\\].*|[a-z][a-z0-9+.-]*://.*"  # paths and addresses; hide_leaks looks into these
    r"|@?[a-z0-9._-]+(?:/[a-z0-9._:@^~-]+)+"  # folders, packages, images
    r"|[\w.-]+\.(?:json|ya?ml|toml|[cm]?[jt]s|py|sh|txt|env|ini|cfg|conf|pem|crt|cer|key|csv|db|sqlite3?|log|md|jar|exe|html?)"
    r"|(?i:stdio|https?|sse|streamable[-_]?http|wss?|websocket|tcp|udp|unix|localhost|true|false|yes|no|on|off|auto|none|all)",
    re.DOTALL,
)
"""Values that are plainly no secret."""
_RUNNERS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(
        ("npx", "bunx", "uvx", "uv", "cargo"), frozenset({"-p", "--package", "--from", "--with", "--python"})
    ),
    **dict.fromkeys(
        ("docker", "podman"), frozenset({"-p", "-e", "--env", "-v", "-w", "--name", "--network", "--mount"})
    ),
}
"""Programs that start another program, with their flags that take a value."""
_SUBCOMMANDS = frozenset({"run", "exec", "tool", "x", "container"})
_SETS_VARIABLE = frozenset({"-e", "--env", "-H", "--header"})
_SETTING = re.compile(rf"((?:\$\{{{DEFAULT}\}}|[^:=])*+)([:=]?)(.*)", re.DOTALL)
"""A variable or a header with its value, split at the first sign outside a reference, because a value may hold both."""
_ESCAPES = {ord(c): f"%{ord(c):02X}" for c in "%${}"}


def secret_name(server: str, name: str) -> str:
    """The name of a secret: its last slash parts server and variable, and no brace ends the reference early.

    >>> secret_name("io.github.x/weather", "API_KEY"), secret_name("odd}", "a/b")
    ('io.github.x/weather/API_KEY', 'odd%7D/a%2Fb')
    """
    return f"{server.translate(_ESCAPES)}/{name.translate({**_ESCAPES, ord('/'): '%2F'})}"


@dataclass(eq=False)
class SecretExtractor:
    """Replaces the secrets in one server's texts by references; the values go to `Reading.secrets`."""

    entry: Entry
    server: str

    def __post_init__(self) -> None:
        self.passwords: set[str] = set()
        """Inputs that are to be typed as secrets."""
        self._references: list[str] = []
        self._put_before: dict[tuple[str, str], str] = {}
        self._counts: defaultdict[str, int] = defaultdict(lambda: 1)

    def hide(self, name: str, value: str) -> str:
        """Hides a literal value as a whole. In a value with references, hides each part that is not plainly harmless."""
        hidden, marked = "", self._with_placeholders(name, value, strict=True)
        if marked and not PLACEHOLDER.search(marked):
            return self._put(name, marked)
        while hidden != marked:  # hiding a part may join two others
            hidden, marked = marked, hide_beside(name, marked, self._cover)
        return self._with_references(marked)

    def hide_leaks(self, name: str, text: str) -> str:
        covered = hide_leaks(name, self._with_placeholders(name, text), self._cover)
        return self._with_references(_SHORT_IN_TEXT.sub(self._cover_short, covered))

    def hide_arguments(self, arguments: Sequence[str], command: str = "") -> tuple[str, ...]:
        """Hides secrets in the arguments of a command: each value of a flag with a telling name, and the value of a one-letter flag unless
        it is plainly no secret. One-letter flags before the name of a started program belong to its runner and stay."""
        hidden: list[str] = []
        previous, program_at = "", _started(command, arguments)
        for position, argument in enumerate(arguments):
            variable, sign, value = _SETTING.findall(argument)[0]
            short = position - 1 > program_at and _tells_short(previous, argument)
            secret = short or (_FLAG.fullmatch(previous) and telling(previous))
            if secret and not _SURELY_FLAG.fullmatch(argument):
                hidden.append(self.hide(previous, argument))
            elif (previous in _SETS_VARIABLE and sign) or (position > program_at and _tells_short(variable, value)):
                hidden.append(f"{variable}{sign}{self.hide(variable.strip(), value)}")
            else:
                hidden.append(self.hide_leaks(f"args_{position}", argument))
            previous = argument
        return tuple(hidden)

    def _cover_short(self, match: re.Match[str]) -> str:
        """Hides the value of a one-letter flag in a shell line, unless it is a plain word or plainly no secret."""
        flag, between, value = match["flag"], match["between"], match["value"]
        if value.isalpha() or _NO_SECRET.fullmatch(value) or PLACEHOLDER.search(value):
            return match[0]
        return f"{flag}{between}{self._cover(flag, value)}"

    def _put(self, name: str, value: str) -> str:
        """Stores a value and returns its reference. Another value under a taken name gets a number."""
        secrets = self.entry.reading.secrets
        name = name.strip("-")
        if (name, value) not in self._put_before:
            key = secret_name(self.server, name)
            while secrets.setdefault(key, value) != value:
                self._counts[name] += 1
                key = secret_name(self.server, f"{name}_{self._counts[name]}")
            self._put_before[name, value] = f"${{secret:{key}}}"
        return self._put_before[name, value]

    def _cover(self, name: str, value: str) -> str:
        """Hides the literal parts of a value with placeholders for references, and the references' defaults."""
        return "".join(self._cover_part(name, part) for part in PLACEHOLDER.split(value))

    def _cover_part(self, name: str, part: str) -> str:
        if PLACEHOLDER.fullmatch(part):
            return self._placeholder(self._hidden_default(name, self._references[int(part[1:-1])]))
        return part if HARMLESS.fullmatch(part) else self._placeholder(self._put(name, part))

    def _placeholder(self, reference: str) -> str:
        """Returns a placeholder for a reference, so that no search for secrets looks inside it."""
        self._references.append(reference)
        return f"\ue000{len(self._references) - 1}\ue001"

    def _with_references(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda match: self._references[int(match[0][1:-1])], text)

    def _with_placeholders(self, name: str, value: str, *, strict: bool = False) -> str:
        value = re.sub("[\ue000\ue001]", "", value)
        if whole := _WHOLE_VARIABLE.fullmatch(value):
            return self._placeholder(f"${{env:{whole[1]}}}")
        value = _REFERENCE.sub(lambda match: self._placeholder(self._reference(name, match, strict)), value)
        if strict and _FOREIGN.search(value):
            self.entry.note(f"{name} has text that only its client replaces; write the value or ${{env:NAME}}")
        return value

    def _reference(self, name: str, match: re.Match[str], strict: bool) -> str:
        """Returns a reference in its normal form. Hides a default that looks like a secret; `strict` hides each default that may be a secret."""
        bare, key = match["bare"], match["key"]
        if bare in EDITOR_VARIABLES:
            self.entry.note(f"{name} uses ${{{bare}}}, which only an editor knows; write the path out to connect")
        if bare in EDITOR_VARIABLES or bare == "python":
            return f"${{{bare}}}"
        if match["scheme"] == "input":
            self.entry.reading.prompt(Prompt(key, "", secret=True))
        if key in self.entry.reading.prompts and self.entry.reading.prompts[key].secret:
            self.passwords.add(key)
        if match["scheme"] == "secret" and f"{key.rpartition('/')[0]}/" != secret_name(self.server, ""):
            self.entry.problem(f"{name} refers to a secret of another server; give a value or ${{env:NAME}}")
        subject = f"{match['scheme']}:{key}" if key else f"env:{match['env'] or bare}"
        default, password = match["default"], key in self.passwords
        if default is None and match["scheme"] == "input":
            default = self.entry.reading.defaults.get(key)
        if not default:
            return f"${{{subject}}}" if default is None else f"${{{subject}:-}}"
        if not (strict or password or telling(subject)):
            default = self.hide_leaks(name, default)
        elif password or telling(subject) or "${" in default or not plain_value(name, default):
            default = self.hide(name, default)
        return f"${{{subject}:-{default}}}"

    def _hidden_default(self, name: str, reference: str) -> str:
        match = _REFERENCE.fullmatch(reference)
        return self._reference(name, match, strict=True) if match and match["default"] else reference


def _tells_short(flag: str, value: str) -> bool:
    """Whether the value of a flag of one letter may be a secret."""
    return bool(_SHORT_FLAG.fullmatch(flag) and value and not _NO_SECRET.fullmatch(value))


def _started(command: str, arguments: Sequence[str]) -> int:
    """Returns the position of the program that a command starts, or -1 if the command is the program itself.

    >>> _started("npx", ["-y", "@x/server", "-p", "x"]), _started("docker", ["run", "-i", "-p", "80:80", "server"]), _started("run", ["-p"])
    (1, 4, -1)
    """
    flags = _RUNNERS.get(re.split(r"[/\\]", command)[-1].removesuffix(".exe").removesuffix(".cmd"))
    if flags is None:
        return -1
    preceding = ["", *arguments]
    names = (
        position
        for position, (previous, argument) in enumerate(zip(preceding, arguments, strict=False))
        if not argument.startswith("-") and previous not in flags and argument not in _SUBCOMMANDS
    )
    return next(names, len(arguments))
