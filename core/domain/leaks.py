"""Finds text that looks like a secret in arguments and addresses. When in doubt it hides, because a hidden value still works.

It finds `user:pass@` in addresses, values with a telling name (flags, variables, headers, JSON fields, query parameters),
tokens with a known beginning, and long opaque strings. `masked` masks a foreign text before it is stored or shown.
`hide_leaks` lets an importer keep each value and put a reference in its place. `hide_beside` checks the text around
references, which are placeholders then.

`inherited` returns the variables that a started process inherits. Other variables may be secrets.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

from core.domain.tools import Json, mapping, properties

MASK = "•••"
USERINFO = "userinfo"
"""The name of the part before the `@` of an address."""
Cover = Callable[[str, str], str]
"""Turns (name, value) into the value's reference."""
_TEXT, _INNER = r"(?:[^${}]|\$(?!\{))", r"\$\{%s\}"
DEFAULT = f"(?:{_TEXT}|{_INNER})*+" % f"(?:{_TEXT}|{_INNER})*+" % f"{_TEXT}*+"
"""The default of a reference. It may hold references with defaults."""
PLACEHOLDER = re.compile("(\ue000[0-9]*\ue001)")
"""Stands for a reference in a text, so that nothing looks for secrets inside it."""
HARMLESS = re.compile(r"[\s:/]*(?:(?:Bearer|Basic|Token|ApiKey)\s+)?", re.IGNORECASE)

_TELLING = ("key", "keys", "token", "tokens", "secret", "secrets", "password", "passwd", "credential", "credentials")
_TELLING_WORDS = {"auth", "authorization", "bearer", "cookie", "dsn", "jwt", "pass", "passphrase", "pat", "pwd", "sig"}
_NO_VALUE = frozenset({"file", "path", "dir", "error", "exception"})

_SURELY_SECRET = frozenset(
    {"code", "cvv", "hash", "otp", "passcode", "phrase", "pin", "salt", "seed", "user", "username", "webhook"}
)
"""More words of names. Their values are always hidden."""
PLAIN_VALUES: Mapping[str, re.Pattern[str]] = {
    "true or false": re.compile(r"(?i:true|false|yes|no|on|off|auto|none|all|enabled|disabled)"),
    "a number, a time or a size": re.compile(r"-?[\d.,:]+(?:ms|s|m|h|d|k|[kmg]b)?"),
    "a path": re.compile(r"\.{1,2}|(?:\.{0,2}|~|[A-Za-z]:)[/\\][^\x00-\x1f]*"),
    "an address": re.compile(r"(?:https?|wss?)://[^\s?#@]+|localhost(?::\d+)?|[\w-]+(?:\.[\w-]+)+:\d+"),
    "a flag": re.compile(r"--?[A-Za-z][\w-]*"),
    "a region": re.compile(
        r"(?:us|eu|ap|sa|ca|me|af|il|mx|cn|asia|europe|northamerica|southamerica|australia|africa|gov)(?:-[a-z]{2,12}){1,2}-?\d{0,2}(?:-[a-f])?"
        r"|(?:east|west|north|south|central)(?:us|europe|uk|asia|india|japan)\d?"
    ),
    "a language or a time zone": re.compile(r"[a-z]{2}[_-][A-Z]{2}(?:\.[\w-]+)?|UTC|GMT|[A-Z][a-z]+/[A-Z][A-Za-z_]+"),
    "a level or a mode": re.compile(
        r"(?i:trace|debug|verbose|info|notice|warn|warning|error|critical|silent|development|dev|production|prod|staging|test|local"
        r"|default|read-?only|read-?write|stdio|https?|sse|streamable[-_]?http|websocket|tcp|json|text|markdown|html|utf-?8)"
    ),
}
"""Patterns of variable values that stay as they are written, by kind. Every other literal is kept as a secret."""

_WEB_USER = re.compile(r"(?i)\b(?P<head>(?:git\+)?(?:https?|ssh|wss?)://)(?P<value>[^\s/@\"']+)@")
_OTHER_USER = re.compile(
    r"(?i)\b(?P<head>(?!(?:git\+)?(?:https?|ssh|wss?)://)[a-z][a-z0-9+.-]{0,20}://)(?P<value>[^\s\"']{1,2000})@"
)
_FLAG = re.compile(
    r"(?<!\S)(?P<name>--?[A-Za-z][\w-]*+)\s+(?P<value>\"[^\"]*\"|'[^']*'|(?!--[A-Za-z]|-[A-Za-z](?:\s|\Z))\S+)"
)
_NAME = re.compile(r"(?<![\w.-])(?P<name>[\w.-]++)[\\\"']*+\s*+[:=]\s*")
_QUOTED = re.compile(r"(?P<quote>\\*[\"'])(?P<value>.*?)(?:(?P=quote)|\Z)", re.DOTALL)
_BARE = re.compile(r"(?P<value>(?:(?:Bearer|Basic|Token)\s+)?[^\s\"'&;,}\\]+)", re.IGNORECASE)
_USER = re.compile(f"(?P<name>[A-Za-z][\\w.+-]{{0,31}}:)(?:{PLACEHOLDER.pattern})+\\Z")
"""The user of an address whose password is a reference."""
_PAIR = re.compile("(?<![\\w.-])(?P<name>[\\w.-]+)=(?P<value>[^\\s;,&\"'\ue000\ue001]+)")
_STRUCTURE = (
    r"[a-z][a-z0-9+.-]{0,20}://|(?i:(?:bearer|basic|token|apikey|digest|negotiate)\s)|\"[A-Za-z_-]+\"\s*:"
    r"|[][\s:;,&|/@?#.(){}\"'_-]"
)
_NEXT = "(?:(?:(?<![\\w.-])(?:--?)?[A-Za-z][A-Za-z_-]{0,30}[=:]\\s*)?\ue000)?"  # the name of a reference that follows
_AROUND_SECRET = re.compile(f"(?:{_STRUCTURE})*+{_NEXT}")
_AROUND = re.compile(
    r"(?:[a-z][a-z0-9+.-]{0,20}://[\w.-]++(?::\d+)?(?![:\w])|@[\w.-]++(?!:\D)|[/\\][^\s?#@;,&=\"'${}\ue000]*+"  # hosts, paths
    rf"|-?\d[\d.,:]*+(?!\w)|[\w.-]++=[^\s;,&\"'${{}}\ue000]++|{_STRUCTURE})*+{_NEXT}"  # numbers, pairs that `_PAIR` left
)
"""Harmless text beside references: `_AROUND_SECRET` in any value, `_AROUND` if the name does not tell of a secret."""
_KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:[spr]k[-_]|gh[a-z]_|github_pat_|xox[a-z]-|glpat-|hf_|npm_|tvly-)[\w-]{8,}"
    r"|(?:AKIA|AIza)[\w-]{12,}|eyJ[\w-]{8,}(?:\.[\w-]*)*)"
)
_LONG = re.compile(r"[A-Za-z0-9_=-]{24,}")
_HEX = re.compile(r"[0-9a-fA-F-]{32,}")


def telling(name: str) -> bool:
    """Whether a name tells of a secret value.

    >>> [telling(name) for name in ("--api-key", "accessToken", "DB_PASSWORD", "author", "--token-file", "KeyError")]
    [True, True, True, False, False, False]
    """
    words = re.findall(r"[a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower())
    if not words or words[-1] in _NO_VALUE:
        return False
    return any(word.endswith(_TELLING) or word in _TELLING_WORDS for word in words)


def opaque(text: str) -> bool:
    """Whether a long string is a hexadecimal number, or mixes capitals, small letters and digits.

    >>> opaque("modelcontextprotocol-server-2025"), opaque("Zm9vYmFyMTIzNDU2Nzg5MGFiY2Rl")
    (False, True)
    """
    if _HEX.fullmatch(text):
        return True
    return all(re.search(letters, text) for letters in ("[A-Z]", "[a-z]", "[0-9]"))


def looks_secret(text: str) -> bool:
    """Whether a part of a text looks like a secret without a name."""
    return masked(text) != text


def plain_value(name: str, value: str) -> str:
    """Returns the kind of a variable's value if it is plainly no secret, else "".

    >>> plain_value("ROOT", "/home/me/files"), plain_value("AWS_REGION", "eu-west-1"), plain_value("MAX_TOKENS", "4000")
    ('a path', 'a region', '')
    >>> plain_value("PIN", "1234"), plain_value("PLAN", "hunter2"), plain_value("HOOK", "https://x.org/a?key=1")
    ('', '', '')
    """
    if _guarded(name) or looks_secret(value):
        return ""
    return next((kind for kind, pattern in PLAIN_VALUES.items() if pattern.fullmatch(value)), "")


def _guarded(name: str) -> bool:
    return telling(name) or not _SURELY_SECRET.isdisjoint(re.findall(r"[a-z]+", name.lower()))


def masked(text: str, keep: str = "") -> str:
    """Masks everything in a text that looks like a secret, except the name `keep`.

    >>> masked("sent with Authorization: Bearer abc, page=2"), masked("Server sk-12345678 is busy", keep="sk-12345678")
    ('sent with Authorization: •••, page=2', 'Server sk-12345678 is busy')
    """
    if keep and looks_secret(keep):
        return keep.join(map(masked, text.split(keep)))
    return hide_leaks("", text, lambda _name, _value: MASK)


def masked_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> str:
    """A call's arguments as JSON, to store and show. Values that the schema marks as secret or that look secret are masked.

    >>> masked_arguments({"pin": "1234", "n": 2}, {"properties": {"pin": {"type": "string", "format": "password"}}})
    '{"pin": "•••", "n": 2}'
    >>> masked_arguments({"password": 'pa"ss', "tokens": ["x", 7], "credentials": {"login": "bob"}, "text": "my token=x, n=2"}, None)
    '{"password": "•••", "tokens": ["•••", "•••"], "credentials": {"login": "•••"}, "text": "my token=•••, n=2"}'
    """
    return json.dumps(_masked_tree(without_marked(arguments, schema), secret=False), ensure_ascii=False, default=str)


def _masked_tree(value: Any, *, secret: bool) -> Any:
    """Masks a JSON value. `secret` means that a name around it tells of a secret."""
    match value:
        case dict():
            entries = cast("dict[str, Any]", value).items()
            return {masked(name): _masked_tree(item, secret=secret or telling(name)) for name, item in entries}
        case list():
            return [_masked_tree(item, secret=secret) for item in cast("list[Any]", value)]
        case str():
            return MASK if secret else masked(value)
        case _:
            return MASK if secret else value


def without_marked(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """A call's arguments. Values that the schema marks as secret are masked."""
    declared = properties(schema)
    return {name: MASK if _secret(mapping(declared.get(name))) else value for name, value in arguments.items()}


def masked_value(value: Any, redact: Callable[[str], str], name: str = "") -> Any:
    """Masks the secrets of a JSON value: known ones by `redact`, and text that looks like a secret. Hashes, record keys such as
    `PROJ-12` and binary data stay. A secret number becomes 0.

    >>> masked_value({"key": "PROJ-12", "password": "x", "n": 1234}, lambda text: text.replace("1234", MASK))
    {'key': 'PROJ-12', 'password': '•••', 'n': 0}
    """

    def cover(key: str, text: str) -> str:
        key_of_record = key.lower().endswith("key") and not looks_secret(text)
        return text if key_of_record or (not key and _HEX.fullmatch(text)) else MASK

    match value:
        case dict():
            entry = cast("dict[str, Any]", value)
            binary = {"data", "blob"} if "mimeType" in entry else set[str]()
            return {key: item if key in binary else masked_value(item, redact, key) for key, item in entry.items()}
        case list():
            return [masked_value(item, redact, name) for item in cast("list[Any]", value)]
        case str():
            return cover(name, redact(value)) if value and telling(name) else hide_leaks("", redact(value), cover)
        case _:
            return value if redact(str(value)) == str(value) else 0


def _secret(schema: Json) -> bool:
    return schema.get("format") == "password" or schema.get("writeOnly") is True


def hide_leaks(name: str, text: str, cover: Cover) -> str:
    """Covers everything in a text that looks like a secret. `name` is used for secrets without a name of their own.

    >>> hide_leaks("url", "https://me:pw@x.org/mcp?apiKey=abc&page=2", lambda name, value: f"<{name}>")
    'https://<userinfo>@x.org/mcp?apiKey=<apiKey>&page=2'
    >>> hide_leaks("arg", "Authorization: Bearer abc", lambda name, value: f"<{name}>")
    'Authorization: <Authorization>'
    """
    for pattern in (_WEB_USER, _OTHER_USER):
        text = pattern.sub(lambda m: _userinfo(m, cover), text)
    text = _FLAG.sub(lambda m: _flag(m, cover), text)
    text = _assignments(text, cover)
    text = _KNOWN.sub(lambda m: cover(name, m[0]), text)
    return _LONG.sub(lambda m: cover(name, m[0]) if opaque(m[0]) else m[0], text)


def hide_beside(name: str, text: str, cover: Cover) -> str:
    """Covers everything in a text with placeholders that is not plainly harmless. `name` is the name of the text.

    >>> hide_beside("DB", "postgres://u:\ue0000\ue001@\ue0001\ue001:5432/shop?mode=x", lambda name, value: f"<{name}>")
    'postgres://u:\ue0000\ue001@\ue0001\ue001:5432/shop?mode=<mode>'
    >>> hide_beside("DB", "pass=abc;host=\ue0000\ue001", lambda name, value: f"<{name}>")
    'pass=<pass>\ue0000\ue001'
    """

    def literal(key: str, value: str) -> str:
        parts = PLACEHOLDER.split(value)
        return "".join(p if PLACEHOLDER.fullmatch(p) or HARMLESS.fullmatch(p) else cover(key, p) for p in parts)

    def pair(match: re.Match[str]) -> str:
        plain = plain_value(match["name"], match["value"])
        return match[0] if plain else f"{match['name']}={literal(match['name'], match['value'])}"

    pieces = PLACEHOLDER.split(_PAIR.sub(pair, hide_leaks(name, text, literal)))
    around = _AROUND_SECRET if _guarded(name) else _AROUND
    for index in range(0, len(pieces), 2):
        if not around.fullmatch(pieces[index] + "\ue000" * (index + 1 < len(pieces))):
            pieces[index] = literal(name, pieces[index])
    return "".join(pieces)


def _userinfo(match: re.Match[str], cover: Cover) -> str:
    if match["value"] == "git":
        return match[0]
    user = _USER.match(match["value"])
    name = user["name"] if user is not None and not looks_secret(user["name"]) else ""
    return f"{match['head']}{name}{cover(USERINFO, match['value'].removeprefix(name))}@"


def _flag(match: re.Match[str], cover: Cover) -> str:
    if not telling(match["name"]):
        return match[0]
    return match[0][: match.start("value") - match.start()] + cover(match["name"], match["value"])


def _assignments(text: str, cover: Cover) -> str:
    """Covers the values of `name=value`, `name: value` and `"name": "value"` if the name is telling."""
    pieces: list[str] = []
    end = 0
    for match in _NAME.finditer(text):
        if match.start() < end or not telling(match["name"]):
            continue
        value = _value(text, match)
        if value is not None:
            start, stop = value
            pieces += [text[end:start], cover(match["name"], text[start:stop])]
            end = stop
    return "".join(pieces) + text[end:]


def _value(text: str, name: re.Match[str]) -> tuple[int, int] | None:
    """Start and end of the value after a name. If the name opens the text, its value is the rest of the text."""
    quoted = _QUOTED.match(text, name.end())
    if quoted is not None:
        return quoted.span("value")
    if not text[: name.start()].strip("-"):
        return (name.end(), len(text)) if name.end() < len(text) else None
    bare = _BARE.match(text, name.end())
    return None if bare is None else bare.span("value")


MACHINE = (
    *("PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA"),
    *("AWS_CA_BUNDLE", "DENO_CERT", "GIT_SSL_CAINFO", "NIX_SSL_CERT_FILE"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY", "NODE_USE_ENV_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"),
)  # fmt: skip
INHERITED = (
    *MACHINE,
    *("HOME", "LOGNAME", "SHELL", "TERM", "USER", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR", "TMP", "TEMP", "XDG_*"),
    *("UV_*", "PIP_*", "PIPX_*", "npm_config_*", "NPM_CONFIG_*", "YARN_CACHE_FOLDER", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR"),
    *("NVM_DIR", "FNM_DIR", "VOLTA_HOME", "PYENV_ROOT", "CARGO_HOME", "GOPATH", "JAVA_HOME", "PLAYWRIGHT_BROWSERS_PATH"),
    *("DOCKER_HOST", "DOCKER_CONFIG", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"),
    *("APPDATA", "LOCALAPPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA"),
    *("PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "USERNAME", "USERPROFILE", "WINDIR"),
)  # fmt: skip
FOLDERS = (
    *("~/.local/bin", "~/.cargo/bin", "~/.bun/bin", "~/.deno/bin", "~/.volta/bin"),
    *("/usr/local/bin", "/opt/homebrew/bin", "/home/linuxbrew/.linuxbrew/bin"),
)  # fmt: skip
"""Folders of programs such as npx and uvx. They are needed if a service starts Wayfare with a short PATH."""
OWN = "WAYFARE_"


def inherited(environ: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Returns the variables that a server inherits. `more` adds names or patterns, as `AWS_PROFILE` or `MY_*`. A variable with a
    telling name is inherited only by its full name. Wayfare's own variables are never inherited.

    >>> variables = inherited({"UV_CACHE_DIR": "/c", "UV_PUBLISH_TOKEN": "t", "WAYFARE_KEY": "k", "MY_A": "1", "OTHER": "2"}, ["MY_*", "WAYFARE_*"])
    >>> {name: value for name, value in variables.items() if name != "PATH"}
    {'UV_CACHE_DIR': '/c', 'MY_A': '1'}
    """
    names = (*INHERITED, *more)
    env = {
        name: value
        for name, value in environ.items()
        if not name.startswith(OWN)
        and (name in names or (not telling(name) and any(fnmatchcase(name, pattern) for pattern in names)))
        and not value.startswith("()")  # a function of a shell
    }
    path = env.get("PATH", os.defpath).split(os.pathsep)
    folders = (str(Path(entry).expanduser()) for entry in FOLDERS)
    env["PATH"] = os.pathsep.join((*path, *(entry for entry in folders if entry not in path and Path(entry).is_dir())))
    return env
