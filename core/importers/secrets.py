"""Keeping secrets out of catalogs: a literal value becomes a reference, the value itself stays in memory.

After reading, references have three forms: `${env:NAME}`, `${input:id}` and `${secret:<server>/<NAME>}`. The ways in
which clients write an environment variable (`${NAME}`, `${NAME:-default}`, a whole value `$NAME`) become the first;
`${python}`, the running interpreter, stays. Defaults stay in commands and addresses alone, and only harmless ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from core.domain.imports import Prompt
from core.importers.entry import Entry
from core.shared.leaks import hide_leaks, telling

_REFERENCE = re.compile(
    r"\$\{(?:env:(?P<env>[A-Za-z_]\w*)|(?P<scheme>input|secret):(?P<key>[^{}\x00-\x1f]+?)|(?P<bare>[A-Za-z_]\w*))"
    r"(?P<default>:-[^{}]*)?\}"
)
_WHOLE_VARIABLE = re.compile(r"\$([A-Z_][A-Z0-9_]*)")
_EDITOR_VARIABLES = frozenset({"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "cwd"})
_HARMLESS = re.compile(r"[\s:/]*(?:(?:Bearer|Basic|Token|ApiKey)\s+)?", re.IGNORECASE)
_PLACEHOLDER = re.compile("(\ue000[0-9]+\ue001)")
_FLAG = re.compile(r"--?[A-Za-z][\w-]*")
_SURELY_FLAG = re.compile(r"--[A-Za-z][\w-]*(?:=.*)?|-[A-Za-z]", re.DOTALL)
_SETS_VARIABLE = frozenset({"-e", "--env", "-H", "--header"})
_ESCAPES = {ord(c): f"%{ord(c):02X}" for c in "%${}"}


def secret_name(server: str, name: str) -> str:
    """The name of a secret: its last slash parts server and variable, and no brace ends the reference early.

    >>> secret_name("io.github.x/weather", "API_KEY"), secret_name("odd}", "a/b")
    ('io.github.x/weather/API_KEY', 'odd%7D/a%2Fb')
    """
    return f"{server.translate(_ESCAPES)}/{name.translate({**_ESCAPES, ord('/'): '%2F'})}"


class SecretExtractor:
    """Replaces the secrets in one server's texts by references; the values go to `Reading.secrets`."""

    def __init__(self, entry: Entry, server: str) -> None:
        self._entry = entry
        self._server = server
        self._references: list[str] = []
        self._put_before: dict[tuple[str, str], str] = {}
        self._counts: defaultdict[str, int] = defaultdict(lambda: 1)

    def hide(self, name: str, value: str) -> str:
        """A value with every literal part hidden and its references kept; `Bearer ` before one stays readable."""
        return self._with_references(self._cover(name, self._with_placeholders(name, value)))

    def hide_leaks(self, name: str, text: str) -> str:
        """A text with only those parts hidden that look like secrets."""
        return self._with_references(hide_leaks(name, self._with_placeholders(name, text), self._cover))

    def hide_arguments(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """Command-line arguments; the value of a flag with a telling name is hidden whatever it looks like."""
        hidden: list[str] = []
        before = ""
        for position, argument in enumerate(arguments):
            variable, sign, value = argument.partition("=" if "=" in argument else ":")
            if _FLAG.fullmatch(before) and telling(before) and not _SURELY_FLAG.fullmatch(argument):
                hidden.append(self.hide(before, argument))
            elif before in _SETS_VARIABLE and sign:
                hidden.append(f"{variable}{sign}{self.hide(variable.strip(), value)}")
            else:
                hidden.append(self.hide_leaks(f"args_{position}", argument))
            before = argument
        return tuple(hidden)

    def _put(self, name: str, value: str) -> str:
        """Keep a value and return its reference; another value under a taken name gets a number."""
        secrets = self._entry.reading.secrets
        name = name.strip("-")
        if (name, value) not in self._put_before:
            key = secret_name(self._server, name)
            while secrets.setdefault(key, value) != value:
                self._counts[name] += 1
                key = secret_name(self._server, f"{name}_{self._counts[name]}")
            self._put_before[name, value] = f"${{secret:{key}}}"
        return self._put_before[name, value]

    def _cover(self, name: str, value: str) -> str:
        """Hide the literal parts of a value in which placeholders stand for references, and the references' defaults."""
        return "".join(self._cover_part(name, part) for part in _PLACEHOLDER.split(value))

    def _cover_part(self, name: str, part: str) -> str:
        if _PLACEHOLDER.fullmatch(part):
            return self._placeholder(self._without_default(name, self._references[int(part[1:-1])]))
        return part if _HARMLESS.fullmatch(part) else self._placeholder(self._put(name, part))

    def _placeholder(self, reference: str) -> str:
        """A placeholder for a reference, so that nothing looks for secrets inside it."""
        self._references.append(reference)
        return f"\ue000{len(self._references) - 1}\ue001"

    def _with_references(self, text: str) -> str:
        return _PLACEHOLDER.sub(lambda found: self._references[int(found[0][1:-1])], text)

    def _with_placeholders(self, name: str, value: str) -> str:
        value = re.sub("[\ue000\ue001]", "", value)
        if whole := _WHOLE_VARIABLE.fullmatch(value):
            return self._placeholder(f"${{env:{whole[1]}}}")
        return _REFERENCE.sub(lambda found: self._placeholder(self._reference(name, found)), value)

    def _reference(self, name: str, found: re.Match[str]) -> str:
        """One reference in its normal form, without a default that looks like a secret."""
        bare, key = found["bare"], found["key"]
        if bare in _EDITOR_VARIABLES:
            self._entry.note(f"{name} uses ${{{bare}}}, which only an editor knows; write the path out to connect")
        if bare in _EDITOR_VARIABLES or bare == "python":
            return f"${{{bare}}}"
        if found["scheme"] == "input":
            self._entry.reading.prompt(Prompt(key, "", secret=True))
        if found["scheme"] == "secret" and f"{key.rpartition('/')[0]}/" != secret_name(self._server, ""):
            self._entry.problem(f"{name} refers to a secret of another server; give a value or ${{env:NAME}}")
        subject = f"{found['scheme']}:{key}" if key else f"env:{found['env'] or bare}"
        default = found["default"] or ""
        reference = f"${{{subject}{default}}}"
        return self._without_default(name, reference) if telling(subject) or _looks_secret(default[2:]) else reference

    def _without_default(self, name: str, reference: str) -> str:
        subject, default, _ = reference.partition(":-")
        if default:
            self._entry.note(f"{name}: the default of {subject}}} was left out; give the value itself")
        return f"{subject}}}" if default else reference


def _looks_secret(text: str) -> bool:
    return hide_leaks("", text, lambda _name, _value: "") != text
