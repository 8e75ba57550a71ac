"""Checks and ranks of lists of numbers."""

from bisect import bisect_left, bisect_right

from mcp.server.mcpserver.exceptions import ToolError


def paired(x: list[float], y: list[float]) -> None:
    """Refuse lists of different lengths."""
    if len(x) != len(y):
        raise ToolError(f"the lists have different lengths, {len(x)} and {len(y)}")


def varied(*lists: list[float]) -> None:
    """Refuse a list of equal numbers."""
    if any(len(set(values)) == 1 for values in lists):
        raise ToolError("all numbers of a list are equal: there is nothing to relate")


def ranks(values: list[float]) -> list[float]:
    """Places in ascending order; equal numbers share the mean of their places."""
    ordered = sorted(values)
    return [(bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values]
