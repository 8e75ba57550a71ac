"""A client's trace goes on: from `_meta`, which the protocol's package reads itself, or else from the headers of HTTP."""

from __future__ import annotations

from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from opentelemetry.context import attach, detach
from opentelemetry.propagate import extract


async def traced(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware around that of the package, which prefers what `_meta` says."""
    headers = getattr(ctx.request, "headers", None)
    if headers is None or "traceparent" not in headers:
        return await call_next(ctx)
    token = attach(extract({name: headers[name] for name in ("traceparent", "tracestate") if name in headers}))
    try:
        return await call_next(ctx)
    finally:
        detach(token)
