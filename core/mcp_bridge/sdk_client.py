"""Small helpers around the SDK's client: a hard limit, every page of a list, and the reason of a failure in words."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

import mcp_types
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED

from core.domain.outcome import SIMULATED_MARK
from core.mcp_bridge.errors import CallTimeoutError, NotConnectedError
from core.mcp_bridge.secrets import Launch

MAX_PAGES = 100
T = TypeVar("T")


async def all_tools(client: Client) -> list[mcp_types.Tool]:
    """Every page of the server's tool list.

    Raises NotConnectedError where the pages do not end, MCPError where the server refuses.
    """
    tools: list[mcp_types.Tool] = []
    cursor: str | None = None
    for _ in range(MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools.extend(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            return tools
    raise NotConnectedError(f"the tool list has more than {MAX_PAGES} pages")


async def tools_by_name(client: Client) -> dict[str, mcp_types.Tool] | None:
    """The tools by name; listing them lets the client check results. None where the server does not list any."""
    try:
        return {tool.name: tool for tool in await all_tools(client)}
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        return None


def says_simulated(client: Client) -> bool:
    """Whether the server declares that it is virtual: all its results are simulated."""
    return SIMULATED_MARK in (client.server_capabilities.extensions or {})


async def bounded(work: Awaitable[T], limit_s: float) -> T:
    """Await the work for at most `limit_s`.

    Raises LimitError at the limit even where the work cannot be interrupted at once: a write to a stopped process.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(_retrieve)
    try:
        done, _ = await asyncio.wait({task}, timeout=limit_s)
    except asyncio.CancelledError:
        task.cancel()
        raise
    if not done:
        task.cancel()
        raise CallTimeoutError(f"no answer within {limit_s:g} s")
    return task.result()


def _retrieve(task: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a task that nobody may await any more, so that asyncio does not complain."""
    if not task.cancelled():
        task.exception()


def first_leaf(error: BaseException) -> Exception:
    """The first real exception inside nested groups."""
    inner: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    if inner:
        return first_leaf(inner[0])
    return error if isinstance(error, Exception) else RuntimeError(type(error).__name__)


def sentence(error: Exception, launch: Launch) -> str:
    """Why a session could not be opened, for the operator."""
    if isinstance(error, FileNotFoundError):
        return f"the command {launch.command} was not found"
    if isinstance(error, OSError) and launch.transport == "stdio":
        return f"the command {launch.command} cannot be started: {error.strerror or error}"
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return "it closed the connection before it answered"
    return str(error) or type(error).__name__
