"""What may leave this machine: spans with known attributes alone. The protocol's packages make spans of their own, too, and
record errors with their texts, which may quote arguments and results."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Status

from core.shared.leaks import masked
from core.shared.untrusted_text import one_line

OURS = "wayfare."
"""Ids, kinds and names of the catalog, as `otel.py` gives them."""
KNOWN = (
    "mcp.",
    "gen_ai.operation.",
    "gen_ai.tool.name",
    "error.type",
    "jsonrpc.request.id",
    "rpc.response.status_code",
    OURS,
)
TEXT_CHARS = 200


class KnownAttributesExporter(SpanExporter):
    """Gives spans on without events, without the words of their errors, and with known attributes."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """See SpanExporter."""
        return self._exporter.export([_bare(span) for span in spans])

    def shutdown(self) -> None:
        """See SpanExporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """See SpanExporter."""
        return self._exporter.force_flush(timeout_millis)


def _bare(span: ReadableSpan) -> ReadableSpan:
    attributes = span.attributes or {}
    return ReadableSpan(
        name=_text(span.name),
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={
            name: _text(value) if isinstance(value, str) and not name.startswith(OURS) else value
            for name, value in attributes.items()
            if name.startswith(KNOWN)
        },
        kind=span.kind,
        status=Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _text(text: str) -> str:
    """A name of a stranger: one line, of bounded length, with what looks like a secret masked."""
    return one_line(masked(text), TEXT_CHARS)
