"""Operations on parsed JSON: pointers, paths, differences, patches, shapes."""

import re
from collections.abc import Iterator
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

STEP = re.compile(
    r"\.\.(?P<deep>\w+)|\.(?P<name>\w+)|\.\*|\[\*\]|\[(?P<index>-?\d+)\]|\[(?P<start>-?\d*):(?P<stop>-?\d*)\]"
    r"|\['(?P<single>[^']*)'\]|\[\"(?P<double>[^\"]*)\"\]"
)


def escape(key: str) -> str:
    """Returns a key as part of a JSON Pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _parts(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ToolError(f"{pointer!r} is not a JSON Pointer: it has to begin with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _index(part: str, length: int) -> int:
    if not re.fullmatch(r"0|[1-9]\d{0,8}", part) or int(part) >= length:
        raise ToolError(f"the list has no item {part!r}")
    return int(part)


def resolve(value: Any, pointer: str) -> Any:
    """Returns the value at a JSON Pointer (RFC 6901)."""
    for part in _parts(pointer):
        if isinstance(value, list):
            value = value[_index(part, len(value))]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            raise ToolError(f"nothing at {pointer!r}: there is no {part!r}")
    return value


def _children(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from enumerate(value)


def _descend(pointer: str, value: Any, key: str) -> Iterator[tuple[str, Any]]:
    for name, child in _children(value):
        place = f"{pointer}/{escape(str(name))}"
        if name == key:
            yield place, child
        yield from _descend(place, child, key)


def _step(pointer: str, value: Any, step: re.Match[str]) -> Iterator[tuple[str, Any]]:
    """Returns the values that one step of a path reaches from one value."""
    if (deep := step["deep"]) is not None:
        yield from _descend(pointer, value, deep)
        return
    key = next((step[name] for name in ("name", "single", "double") if step[name] is not None), None)
    children = [(name, f"{pointer}/{escape(str(name))}", child) for name, child in _children(value)]
    if key is not None:
        wanted = [child for child in children if isinstance(value, dict) and child[0] == key]
    elif not isinstance(value, list) and step.group() not in (".*", "[*]"):
        wanted = []
    elif step["index"] is not None:
        index = int(step["index"])
        wanted = children[index : index + 1 or None]
    else:
        start, stop = step["start"], step["stop"]
        wanted = children[int(start) if start else None : int(stop) if stop else None]
    yield from ((place, child) for _, place, child in wanted)


def query(value: Any, path: str) -> list[tuple[str, Any]]:
    """Returns all values that a path reaches, each with its JSON Pointer."""
    if not path.startswith("$"):
        raise ToolError("a path begins with $")
    found, at = [("", value)], 1
    while at < len(path):
        step = STEP.match(path, at)
        if step is None:
            raise ToolError(f"cannot read the path from {path[at:]!r} on")
        found = [child for pointer, item in found for child in _step(pointer, item, step)]
        at = step.end()
    return found


def diff(before: Any, after: Any, pointer: str = "") -> list[dict[str, Any]]:
    """Returns the steps of a JSON Patch from one value to the other."""
    if isinstance(before, dict) and isinstance(after, dict):
        steps = [{"op": "remove", "path": f"{pointer}/{escape(key)}"} for key in before if key not in after]
        for key, value in after.items():
            place = f"{pointer}/{escape(key)}"
            added = {"op": "add", "path": place, "value": value}
            steps += diff(before[key], value, place) if key in before else [added]
        return steps
    if isinstance(before, list) and isinstance(after, list):
        common = min(len(before), len(after))
        steps = [step for i in range(common) for step in diff(before[i], after[i], f"{pointer}/{i}")]
        steps += [{"op": "remove", "path": f"{pointer}/{i}"} for i in range(len(before) - 1, common - 1, -1)]
        return steps + [{"op": "add", "path": f"{pointer}/{i}", "value": after[i]} for i in range(common, len(after))]
    same = before == after and isinstance(before, bool) == isinstance(after, bool)
    return [] if same else [{"op": "replace", "path": pointer, "value": after}]


def change(document: Any, op: str, pointer: str, value: Any) -> Any:
    """Applies one step of a JSON Patch to `document`, in place, and returns it."""
    parts = _parts(pointer)
    if not parts:
        if op == "remove":
            raise ToolError("the whole document cannot be removed")
        return value
    parent, key = resolve(document, "".join(f"/{escape(part)}" for part in parts[:-1])), parts[-1]
    if op != "add":
        resolve(parent, f"/{escape(key)}")
    if isinstance(parent, list):
        place = len(parent) if key == "-" else _index(key, len(parent) + (op == "add"))
        parent[place : place + (op != "add")] = [] if op == "remove" else [value]
    elif not isinstance(parent, dict):
        raise ToolError(f"nothing can stand at {pointer!r}")
    elif op == "remove":
        del parent[key]
    else:
        parent[key] = value
    return document


def merge(base: Any, overlay: Any) -> Any:
    """JSON Merge Patch (RFC 7396): keys of `overlay` win, null removes."""
    if not isinstance(overlay, dict):
        return overlay
    merged = dict(base) if isinstance(base, dict) else {}
    for key, value in overlay.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def flatten(value: Any, separator: str, prefix: str = "") -> dict[str, Any]:
    """Returns one level of keys. Empty lists and objects stay as they are."""
    flat: dict[str, Any] = {}
    for key, child in _children(value):
        name = f"{prefix}{key}"
        nested = isinstance(child, dict | list) and child
        flat |= flatten(child, separator, name + separator) if nested else {name: child}
    return flat if prefix or isinstance(value, dict | list) else {"": value}


def unflatten(flat: dict[str, Any], separator: str) -> dict[str, Any]:
    """Returns nested objects from joined keys."""
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split(separator)
        place = nested
        for part in parents:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise ToolError(f"{name!r} needs an object where another key has put a value")
        place[last] = value
    return nested


def infer(value: Any) -> dict[str, Any]:
    """Returns the schema of an example value."""
    if isinstance(value, dict):
        return {"type": "object", "properties": {k: infer(v) for k, v in value.items()}, "required": list(value)}
    if isinstance(value, list):
        kinds: list[dict[str, Any]] = []
        for kind in map(infer, value):
            kinds += [] if kind in kinds else [kind]
        return {"type": "array"} | ({"items": kinds[0] if len(kinds) == 1 else {"anyOf": kinds}} if kinds else {})
    names = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (type(None), "null"))
    return {"type": next(name for kind, name in names if isinstance(value, kind))}
