"""Calls that wait for a person's approval, and the exact scope of an approval."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, astuple, dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any, Literal, NamedTuple

from core.domain.catalog import Tool
from core.domain.documents import AMOUNT, CLOSED, digest, number
from core.domain.outcome import ToolCall

# A tool's definition: its digest, and its changes word by word.

PARTS = ("title", "description", "inputSchema", "outputSchema", "annotations")
MOST_PIECES = 6_000
_PIECE = re.compile(r"\s+|\w+|[^\w\s]")
Change = Literal["same", "removed", "added"]


class Piece(NamedTuple):
    """Some words that stayed, were removed, or were added."""

    change: Change
    text: str


@dataclass(frozen=True, slots=True)
class PartDifference:
    """The changes in one part of a definition."""

    part: str
    pieces: tuple[Piece, ...]


def definition_json(tool: Tool) -> str:
    """Returns the server's statements about a tool as one text, which a person approves. Prices and times are the
    operator's own."""
    said: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.own_description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": {name: value for name, value in asdict(tool.hints).items() if value is not None},
        **({"extras": tool.extras} if tool.extras else {}),
    }
    return json.dumps(said, ensure_ascii=False, sort_keys=True, default=_plain)


def same_definition(one: str, other: str) -> bool:
    """Whether two definitions differ at most in icons and metadata: others of these are not passed on, and hold nothing back."""
    if one == other:
        return True
    texts = ({**json.loads(text), "extras": ""} for text in (one, other))
    first, second = (json.dumps(said, ensure_ascii=False, sort_keys=True) for said in texts)
    return first == second


def differences(before: str, after: str) -> tuple[PartDifference, ...]:
    """Returns the changes between two definitions, part by part.

    >>> before, after = (definition_json(Tool("files", "read", f"Reads a {kind}.")) for kind in ("file", "secret file"))
    >>> [(one.part, [(piece.change, piece.text) for piece in one.pieces]) for one in differences(before, after)]
    [('description', [('same', 'Reads a '), ('added', 'secret '), ('same', 'file.')])]
    """
    one, other = json.loads(before), json.loads(after)
    texts = ((part, _shown(one.get(part)), _shown(other.get(part))) for part in PARTS)
    return tuple(PartDifference(part, _compared(old, new)) for part, old, new in texts if old != new)


def _compared(before: str, after: str) -> tuple[Piece, ...]:
    old, new = (_PIECE.findall(text)[:MOST_PIECES] for text in (before, after))
    found: list[Piece] = []
    removed = added = ""
    codes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    for place, (kind, start, stop, new_start, new_stop) in enumerate(codes):
        before_text, after_text = "".join(old[start:stop]), "".join(new[new_start:new_stop])
        inside = 0 < place < len(codes) - 1 and not re.search(r"\w", before_text)
        if kind == "equal" and not inside:
            found += [*_changed(removed, added), Piece("same", before_text)]
            removed = added = ""
        else:  # a gap between two changed words joins the change, so that whole phrases are compared
            removed, added = removed + before_text, added + after_text
    return (*found, *_changed(removed, added))


def _changed(removed: str, added: str) -> list[Piece]:
    pieces = Piece("removed", removed), Piece("added", added)
    return [piece for piece in pieces if piece.text]


def _shown(part: object) -> str:
    if part is None or part == {}:
        return ""
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False, indent=1, sort_keys=True)


def _plain(value: object) -> Any:
    return dict(value) if hasattr(value, "keys") else str(value)  # pyright: ignore[reportCallIssue, reportArgumentType]


LONGEST_HOLD_S = 300.0


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Calls that wait: of tools that are not declared read-only, of tools dearer than `above_usd`, of tools that are
    new here.

    A call waits for `wait_s` at most, and its request stays open for the first `hold_s` of them. An approved call may be made once
    within `valid_s`. With `client_may_approve` the client of the agent asks its own person, who may approve.
    """

    __pydantic_config__ = CLOSED

    writes: bool = False
    above_usd: Annotated[int | float, AMOUNT] | None = None
    new: bool = False
    wait_s: Annotated[int | float, AMOUNT] = 900.0
    valid_s: Annotated[int | float, AMOUNT] = 900.0
    hold_s: Annotated[int | float, number(0, LONGEST_HOLD_S)] = 45.0
    client_may_approve: bool = False

    def reasons(self, tool: Tool, price_usd: float, *, known: bool) -> tuple[str, ...]:
        """Returns why a call waits; empty if it does not.

        >>> ApprovalRules(writes=True, above_usd=0.01, new=True).reasons(Tool("mail", "send"), 0.02, known=False)
        ('it may write', 'it costs $0.02, more than $0.01', 'it is new here')
        """
        found = {
            "it may write": self.writes and tool.hints.read_only is not True,
            f"it costs ${price_usd:g}, more than ${self.above_usd or 0:g}": self.above_usd is not None
            and price_usd > self.above_usd,
            "it is new here": self.new and not known,
        }
        return tuple(reason for reason, applies in found.items() if applies)


@dataclass(frozen=True, slots=True)
class Binding:
    """The exact scope of an approval. Another client, argument, definition or policy needs another approval."""

    client: str
    catalog: str
    server: str
    tool: str
    arguments_digest: str
    definition_digest: str
    policy_digest: str

    @property
    def key(self) -> str:
        """The digest of all fields."""
        return digest(json.dumps(astuple(self)))


def binding(client: str, call: ToolCall, tool: Tool, policy_digest: str) -> Binding:
    """Returns the binding of a call. The order of its arguments does not matter.

    >>> made = [binding("ann", ToolCall("a", "b", arguments), Tool("a", "b"), "p") for arguments in ({"x": 1, "y": 2}, {"y": 2, "x": 1})]
    >>> made[0] == made[1]
    True
    """
    arguments = json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)
    return Binding(
        client, call.catalog, call.server, call.tool, digest(arguments), digest(definition_json(tool)), policy_digest
    )
