"""Rules about hints on side effects, and whether they fit the names."""

from __future__ import annotations

from core.domain.catalog import Server, Tool, words
from core.domain.lint import Severity
from core.lint.base import Context, ServerRule, ToolRule
from core.lint.vocabulary import VOCABULARY

DESTROYS, REMOVES, WRITES, READS = (VOCABULARY[kind] for kind in ("destroys", "removes", "writes", "reads"))


class MissingHints(ServerRule):
    """Tools that say nothing about side effects, one finding a server."""

    id = "missing_hints"
    title = "No hints about side effects"
    severity = Severity.NOTE
    why = "Without readOnlyHint and destructiveHint a client cannot tell what may be called unasked, or called again."
    advice = "Add annotations with readOnlyHint, and destructiveHint where a tool changes something."

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - its tools say all
        silent = sum(tool.hints.read_only is None and tool.hints.destructive is None for tool in server.tools)
        if not silent:
            return ""
        some = "All of its" if silent == len(server.tools) else f"{silent} of its {len(server.tools)}"
        return f"{some} tools say nothing about side effects."


class UnmarkedDestruction(ToolRule):
    """A name that sounds destructive, and no hint about it."""

    id = "unmarked_destruction"
    title = "Destroys without saying so"
    severity = Severity.WARNING
    why = "A client asks before a destructive call only if it knows that it is one."
    advice = "Add destructiveHint: true, or rename the tool if it destroys nothing."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        verb = leading_verb(tool)
        if verb not in DESTROYS | REMOVES or tool.hints.destructive is not None or tool.hints.read_only is not None:
            return None
        return f"The name says “{verb}”; no hint says whether the tool destroys something.", "name", tool.name


class ContradictoryHints(ToolRule):
    """Hints that contradict the name, or each other."""

    id = "contradictory_hints"
    title = "Hints contradict the name"
    severity = Severity.ERROR
    why = "Clients call read-only tools without asking; one that deletes under that hint deletes unasked."
    advice = "Set readOnlyHint: false, or rename the tool; until then confirm every call."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.hints.read_only is not True:
            return None
        if tool.hints.destructive is True:
            return "The hints say read-only and destructive at once.", "", ""
        if (verb := leading_verb(tool)) in DESTROYS:
            return f"The name says “{verb}”, the hint says read-only.", "name", tool.name
        return None


class DoubtfulHints(ToolRule):
    """Hints that make a tool look more harmless than its name."""

    id = "doubtful_hints"
    title = "Hints look too harmless"
    severity = Severity.NOTE
    why = "Whether a call needs a confirmation is decided by the hints; these say less than the name."
    advice = "Read the description; correct the hint or the name."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        verb = leading_verb(tool)
        if tool.hints.read_only is True and tool.hints.destructive is not True and verb in WRITES | REMOVES:
            return f"The name says “{verb}”, the hint says read-only.", "name", tool.name
        if tool.hints.destructive is False and tool.hints.read_only is not True and verb in DESTROYS:
            return f"The name says “{verb}”, the hint says not destructive.", "name", tool.name
        return None


def leading_verb(tool: Tool) -> str:
    """The first word of the name that says what is done; "" where none is known.

    >>> leading_verb(Tool("jira", "jira_delete_issue")), leading_verb(Tool("bin", "list_deleted_files"))
    ('delete', 'list')
    """
    known = DESTROYS | REMOVES | WRITES | READS
    return next((word for word in words(tool.name).lower().split() if word in known), "")
