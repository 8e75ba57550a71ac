"""How a server is reached: one entry of a client's configuration becomes a `Connection` without secrets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlsplit

from core.domain.catalog import Connection, Prompt, Transport
from core.domain.leaks import DEFAULT, HARMLESS, PLACEHOLDER, hide_beside, hide_leaks, plain_value, telling
from core.importers.entry import Entry
from core.importers.places import EDITOR_VARIABLES, expanded, placed
from core.importers.reading import MAX_TEXT, kind, line_fault, shown
from core.importers.restrictions import limits

# Keeping secrets out of catalogs: a literal value becomes a reference, the value itself stays in memory.
#
# After reading, references have three forms: `${env:NAME}`, `${input:id}` and `${secret:<server>/<NAME>}`. The ways in
# which clients write an environment variable (`${NAME}`, `${NAME:-default}`, a whole value `$NAME`) become the first;
# `${python}`, the running interpreter, stays. A default that may be a secret is kept as one: `${env:NAME:-${secret:<server>/<NAME>}}`.

_REFERENCE = re.compile(
    r"\$\{(?:env:(?P<env>[A-Za-z_]\w*)|(?P<scheme>input|secret):(?P<key>[^{}\x00-\x1f]+?)|(?P<bare>[A-Za-z_]\w*))"
    rf"(?::-(?P<default>{DEFAULT}))?\}}"
)
_WHOLE_VARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_FOLDERS = ("cwd", "workingDir", "workingDirectory")
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
"""Programs that start another one, and those of their flags that take a value."""
_SUBCOMMANDS = frozenset({"run", "exec", "tool", "x", "container"})
_SETS_VARIABLE = frozenset({"-e", "--env", "-H", "--header"})
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
        """A literal value hidden as a whole. Of one with references those parts are hidden that are not plainly harmless."""
        hidden, marked = "", self._with_placeholders(name, value, strict=True)
        if marked and not PLACEHOLDER.search(marked):
            return self._put(name, marked)
        while hidden != marked:  # a part that is hidden may bring two others together
            hidden, marked = marked, hide_beside(name, marked, self._cover)
        return self._with_references(marked)

    def hide_leaks(self, name: str, text: str) -> str:
        """A text with only those parts hidden that look like secrets."""
        covered = hide_leaks(name, self._with_placeholders(name, text), self._cover)
        return self._with_references(_SHORT_IN_TEXT.sub(self._cover_short, covered))

    def hide_arguments(self, arguments: Sequence[str], command: str = "") -> tuple[str, ...]:
        """The arguments of a command; the value of a flag with a telling name is always hidden, that of a flag of one
        letter unless it is plainly none. Where the command starts another one, such flags before that one's name are its own."""
        hidden: list[str] = []
        before, started = "", _started(command, arguments)
        for position, argument in enumerate(arguments):
            variable, sign, value = argument.partition("=" if "=" in argument else ":")
            short = position - 1 > started and _tells_short(before, argument)
            secret = short or (_FLAG.fullmatch(before) and telling(before))
            if secret and not _SURELY_FLAG.fullmatch(argument):
                hidden.append(self.hide(before, argument))
            elif (before in _SETS_VARIABLE and sign) or (position > started and _tells_short(variable, value)):
                hidden.append(f"{variable}{sign}{self.hide(variable.strip(), value)}")
            else:
                hidden.append(self.hide_leaks(f"args_{position}", argument))
            before = argument
        return tuple(hidden)

    def _cover_short(self, found: re.Match[str]) -> str:
        """The value of a flag of one letter in a line for a shell, where it is no plain word either."""
        flag, between, value = found["flag"], found["between"], found["value"]
        if value.isalpha() or _NO_SECRET.fullmatch(value) or PLACEHOLDER.search(value):
            return found[0]
        return f"{flag}{between}{self._cover(flag, value)}"

    def _put(self, name: str, value: str) -> str:
        """Keep a value and return its reference; another value under a taken name gets a number."""
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
        """Hide the literal parts of a value in which placeholders stand for references, and the references' defaults."""
        return "".join(self._cover_part(name, part) for part in PLACEHOLDER.split(value))

    def _cover_part(self, name: str, part: str) -> str:
        if PLACEHOLDER.fullmatch(part):
            return self._placeholder(self._hidden_default(name, self._references[int(part[1:-1])]))
        return part if HARMLESS.fullmatch(part) else self._placeholder(self._put(name, part))

    def _placeholder(self, reference: str) -> str:
        """A placeholder for a reference, so that nothing looks for secrets inside it."""
        self._references.append(reference)
        return f"\ue000{len(self._references) - 1}\ue001"

    def _with_references(self, text: str) -> str:
        return PLACEHOLDER.sub(lambda found: self._references[int(found[0][1:-1])], text)

    def _with_placeholders(self, name: str, value: str, *, strict: bool = False) -> str:
        value = re.sub("[\ue000\ue001]", "", value)
        if whole := _WHOLE_VARIABLE.fullmatch(value):
            return self._placeholder(f"${{env:{whole[1]}}}")
        return _REFERENCE.sub(lambda found: self._placeholder(self._reference(name, found, strict)), value)

    def _reference(self, name: str, found: re.Match[str], strict: bool) -> str:
        """One reference in its normal form. A default that looks like a secret is hidden; a strict look hides all that may be one."""
        bare, key = found["bare"], found["key"]
        if bare in EDITOR_VARIABLES:
            self.entry.note(f"{name} uses ${{{bare}}}, which only an editor knows; write the path out to connect")
        if bare in EDITOR_VARIABLES or bare == "python":
            return f"${{{bare}}}"
        if found["scheme"] == "input":
            self.entry.reading.prompt(Prompt(key, "", secret=True))
        if key in self.entry.reading.prompts and self.entry.reading.prompts[key].secret:
            self.passwords.add(key)
        if found["scheme"] == "secret" and f"{key.rpartition('/')[0]}/" != secret_name(self.server, ""):
            self.entry.problem(f"{name} refers to a secret of another server; give a value or ${{env:NAME}}")
        subject = f"{found['scheme']}:{key}" if key else f"env:{found['env'] or bare}"
        default = found["default"]
        if not default:
            return f"${{{subject}}}" if default is None else f"${{{subject}:-}}"
        if not (strict or telling(subject)):
            default = self.hide_leaks(name, default)
        elif telling(subject) or "${" in default or not plain_value(name, default):
            default = self.hide(name, default)
        return f"${{{subject}:-{default}}}"

    def _hidden_default(self, name: str, reference: str) -> str:
        found = _REFERENCE.fullmatch(reference)
        return self._reference(name, found, strict=True) if found and found["default"] else reference


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
    befores = ["", *arguments]
    names = (
        position
        for position, (before, argument) in enumerate(zip(befores, arguments, strict=False))
        if not argument.startswith("-") and before not in flags and argument not in _SUBCOMMANDS
    )
    return next(names, len(arguments))


_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "remote": "http",
    "sse": "sse",
}
_URLS = ("url", "serverUrl", "httpUrl")


def read_connection(entry: Entry, server: str) -> Connection | None:
    """Reads one `mcpServers` entry. Records a fault and returns None if it has neither command nor address.

    >>> from core.importers.reading import Reading
    >>> reading = Reading("mcp.json")
    >>> entry = Entry(reading, 'mcpServers "web"', {"url": "https://x.org/mcp", "headers": {"X-Key": "s3cret"}})
    >>> read_connection(entry, "web").headers, reading.secrets
    ({'X-Key': '${secret:web/X-Key}'}, {'web/X-Key': 's3cret'})
    """
    extractor = SecretExtractor(entry, server)
    entry = _flat(entry)
    command = expanded(entry, entry.raw_text("command"))
    url = next((found for key in _URLS if (found := entry.raw_text(key))), "")
    transport = _transport(entry, command, url)
    if transport is None:
        return None
    if transport == "stdio":
        found = _local(entry, extractor, command)
    else:
        _check_url(entry, url)
        url, headers = extractor.hide_leaks("url", url), _headers(entry, extractor)
        found = Connection(transport, url=url, headers=headers, passwords=tuple(sorted(extractor.passwords)))
    return replace(found, shared=entry.get("shared") is True, **limits(entry))


def _flat(entry: Entry) -> Entry:
    """Returns an entry with the command as text: OpenCode writes a list with the arguments, older Zed an object with all of it."""
    command, value = entry.get("command"), {**entry.value, "env": entry.get("env") or entry.get("environment")}
    if isinstance(command, list) and command:
        first, *arguments = cast("list[object]", command)
        value |= {"command": first, "args": [*arguments, *entry.list("args")]}
    elif isinstance(command, dict):
        parts = cast("dict[str, object]", command)
        value |= {**parts, "command": parts.get("path")}
    return Entry(entry.reading, entry.where, value)


def _transport(entry: Entry, command: str, url: str) -> Transport | None:
    key = "type" if entry.get("type") is not None else "protocol" if entry.get("protocol") is not None else "transport"
    spelled = re.sub(r"[^a-z]", "", entry.raw_text(key).lower())
    if spelled not in {"", "auto"} and spelled not in _TRANSPORTS:
        entry.problem(f"{key} is not a transport that is known; give stdio, http or sse")
        return None
    transport = _TRANSPORTS.get(spelled, "stdio" if command or not url else "http")
    if not command and not url:
        entry.problem("neither command nor url says how to reach it; give one of them")
        return None
    if not (command if transport == "stdio" else url):
        wanted = "command" if transport == "stdio" else "url"
        entry.problem(f"{key} is {transport} but there is no {wanted}; give the {wanted} or another {key}")
        return None
    return transport


def _local(entry: Entry, extractor: SecretExtractor, command: str) -> Connection:
    arguments = [expanded(entry, scalar(entry, f"args[{i}]", raw)) for i, raw in enumerate(entry.list("args"))]
    cwd = next((expanded(entry, found) for key in _FOLDERS if (found := entry.raw_text(key))), "")
    command, arguments, cwd = placed(entry.reading.folder, command, arguments, cwd)
    for key, text in (("command", command), ("cwd", cwd)):
        if fault := line_fault(text, limit=10_000):
            entry.problem(f"{key} {fault}")
    if entry.get("envFile") is not None:
        entry.note("envFile is not read; give its variables under env")
    values = {name: expanded(entry, value) for name, value in pairs(entry, "env").items()}
    env = {name: _environment_value(entry, extractor, name, value) for name, value in values.items()}
    for name in _variable_names(entry):
        env[str(name)] = _variable(entry, "env_vars", name)
    return Connection(
        "stdio",
        command=extractor.hide_leaks("command", command),
        args=extractor.hide_arguments(arguments, command),
        cwd=extractor.hide_leaks("cwd", cwd),
        env=env,
        passwords=tuple(sorted(extractor.passwords)),
    )


def _environment_value(entry: Entry, extractor: SecretExtractor, name: str, value: str) -> str:
    if "${" not in value and (found := plain_value(name, value)):
        entry.note(
            f"env {shown(name)} stays as it is written, because it is {found}; hide it under its server if it is a secret"
        )
        return value
    return extractor.hide(name, value)


def _headers(entry: Entry, extractor: SecretExtractor) -> dict[str, str]:
    """Headers as clients write them, with Codex's spellings for those that come from the environment."""
    literal = {**pairs(entry, "headers"), **pairs(entry, "http_headers")}
    headers = {name: extractor.hide(name, value) for name, value in literal.items()}
    if any(line_fault(value, limit=100_000) for value in literal.values()):
        entry.problem("headers: a value holds a line break or another control character; remove it")
    for name, variable in pairs(entry, "env_http_headers").items():
        headers[name] = _variable(entry, f"env_http_headers {shown(name)}", variable)
    if variable := entry.raw_text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer {_variable(entry, 'bearer_token_env_var', variable)}"
    elif token := entry.raw_text("bearer_token"):
        headers["Authorization"] = f"Bearer {extractor.hide('Authorization', token)}"
    return headers


def _variable_names(entry: Entry) -> list[object]:
    """Codex's `env_vars`: names, tables with a name, or a table by name."""
    listed = entry.get("env_vars")
    items = list(cast("dict[str, object]", listed)) if isinstance(listed, dict) else entry.list("env_vars")
    return [cast("dict[str, object]", one).get("name") if isinstance(one, dict) else one for one in items]


def _variable(entry: Entry, label: str, raw: object) -> str:
    """A reference to an environment variable; where the secret itself is written there, a fault that does not quote it."""
    if isinstance(raw, str) and re.fullmatch(r"[A-Za-z_]\w*", raw):
        return f"${{env:{raw}}}"
    entry.problem(f"{label} is not the name of an environment variable; give the name, not the value")
    return ""


def pairs(entry: Entry, key: str) -> dict[str, str]:
    """An object of names and texts; null means absent, numbers and true or false become text."""
    found: dict[str, str] = {}
    for name, raw in (entry.mapping(key) or {}).items():
        if fault := line_fault(name) or ("" if name.strip() else "is empty; give a name"):
            entry.problem(f"{key}: the name {shown(name)} {fault}")
        elif raw is not None:
            found[name] = scalar(entry, f"{key} {shown(name)}", raw)
    return found


def scalar(entry: Entry, label: str, raw: Any) -> str:
    """A text, or a number or true/false as text; anything else is a fault, which does not quote the value."""
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, int | float):
        return repr(raw)
    if not isinstance(raw, str):
        entry.problem(f"{label} is {kind(raw)}; give text")
    elif "\0" in raw:
        entry.problem(f"{label} holds the control character U+0000; remove it")
    elif len(raw) > MAX_TEXT:
        entry.problem(f"{label} has {len(raw):,} characters; use at most {MAX_TEXT:,}")
    else:
        return raw
    return ""


def _check_url(entry: Entry, url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = "${" in url or (parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        fine = False
    if not fine or line_fault(url, limit=10_000):
        entry.problem("url is not an address that can be called; give one that begins with http:// or https://")
