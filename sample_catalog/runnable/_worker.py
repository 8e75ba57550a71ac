"""Child process of `_common.run_limited`: one JSON request on standard input, one JSON reply on standard output."""

import json
import re
import sys
from itertools import islice
from typing import Any

MAX_MATCHES = 500
MAX_CHARS = 200_000
CLIP = 500


def compiled(pattern: str, flags: list[str]) -> re.Pattern[str]:
    """Returns the pattern with flags given by name: ignore_case, multi_line, dot_all, verbose."""
    names = {"ignore_case": re.I, "multi_line": re.M, "dot_all": re.S, "verbose": re.X}
    return re.compile(pattern, sum(names[flag] for flag in set(flags)))


def find(pattern: str, flags: list[str], text: str) -> list[dict[str, Any]]:
    """Returns every match with its place and groups. Long matches are clipped."""

    def clip(value: str | None) -> str | None:
        return value if value is None else value[:CLIP]

    return [
        {
            "text": match.group()[:CLIP],
            "start": match.start(),
            "end": match.end(),
            "groups": [clip(group) for group in match.groups()[:20]],
            "named_groups": {name: clip(value) for name, value in islice(match.groupdict().items(), 20)},
        }
        for match in islice(compiled(pattern, flags).finditer(text), MAX_MATCHES)
    ]


def replace(pattern: str, flags: list[str], text: str, replacement: str, limit: int) -> dict[str, Any]:
    """Replaces up to `limit` matches (0: all). Raises ValueError if the result becomes too long."""
    regex, parts, end, count, size = compiled(pattern, flags), [], 0, 0, len(text)
    for match in islice(regex.finditer(text), limit or None):
        new = match.expand(replacement)
        size += len(new)
        if size > MAX_CHARS:
            raise ValueError(f"the result would be longer than {MAX_CHARS} characters")
        parts += [text[end : match.start()], new]
        end, count = match.end(), count + 1
    return {"text": "".join(parts) + text[end:], "replacements": count}


def split(pattern: str, flags: list[str], text: str) -> list[str]:
    """Returns the pieces of `text` between matches."""
    return [piece or "" for piece in compiled(pattern, flags).split(text, MAX_MATCHES)]


def test(pattern: str, flags: list[str], candidates: list[str]) -> list[bool]:
    """Returns for each candidate whether the pattern matches it from beginning to end."""
    regex = compiled(pattern, flags)
    return [regex.fullmatch(candidate) is not None for candidate in candidates]


def validate(document: Any, schema: Any) -> list[dict[str, str]]:
    """Returns the places where `document` breaks `schema` (JSON Schema 2020-12). References to other addresses are not
    followed."""
    from jsonschema_rs import Draft202012Validator, ValidationError, ValidationErrorKind

    try:
        errors = Draft202012Validator(schema, offline=True).iter_errors(document)
    except ValidationError as error:
        if isinstance(error.kind, ValidationErrorKind.Referencing):
            raise ValueError(f"the schema refers to something outside itself: {error.message[:CLIP]}") from error
        raise ValueError(f"the schema itself is not valid: {error.message[:CLIP]}") from error
    return [{"path": _path(error.instance_path), "problem": error.message[:CLIP]} for error in islice(errors, 100)]


def _path(parts: list[str | int]) -> str:
    return "$" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def main() -> None:
    """Answers the one request."""
    request = json.load(sys.stdin)
    job = {"find": find, "replace": replace, "split": split, "test": test, "validate": validate}[request["job"]]
    try:
        reply = {"result": job(**request["arguments"])}
    except re.error as error:
        reply = {"error": f"the pattern is not valid: {error}"}
    except (ValueError, IndexError, OverflowError, RecursionError) as error:
        reply = {"error": str(error)}
    json.dump(reply, sys.stdout)


if __name__ == "__main__":
    main()
