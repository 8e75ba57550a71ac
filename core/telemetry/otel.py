"""Telemetry through the OpenTelemetry SDK to an OTLP receiver, by the semantic conventions for MCP and generative AI.

The protocol's packages make the spans of each message, and carry `traceparent` in `_meta` both ways. This module makes
the spans and metrics of decisions and calls. https://opentelemetry.io/docs/specs/semconv/gen-ai/mcp/
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.metrics import Histogram, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import NoOpTracerProvider, SpanKind, Status, StatusCode

from core.domain.decision import Decision
from core.domain.leaks import masked
from core.domain.outcome import Outcome, ToolCall
from core.domain.untrusted_text import one_line
from core.telemetry import Ended, Telemetry

OURS = "wayfare."
"""Ids, kinds and names of the catalog."""
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


@dataclass
class KnownAttributesExporter(SpanExporter):
    """Exports spans with known attributes only, without events and error texts: the protocol's packages record errors with texts that may
    quote arguments and results."""

    exporter: SpanExporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self.exporter.export([_bare(span) for span in spans])

    def shutdown(self) -> None:
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self.exporter.force_flush(timeout_millis)


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


def _text(foreign: str) -> str:
    return one_line(masked(foreign), TEXT_CHARS)


SCOPE = "wayfare"
SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)  # as the conventions advise
TOKENS = (100.0, 300.0, 1_000.0, 3_000.0, 10_000.0, 30_000.0, 100_000.0)
CLOSING_S = 3.0
Attributes = dict[str, str | int | float | bool]


class OpenTelemetry(Telemetry):
    """Sends the wanted signals (TRACES, METRICS) to OTEL_EXPORTER_OTLP_*. There is one for a process."""

    def __init__(self, signals: Sequence[str]) -> None:
        resource = Resource.create({SERVICE_NAME: "wayfare"}).merge(OTELResourceDetector().detect())
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False) if "TRACES" in signals else None
        if self._traces is not None:
            self._traces.add_span_processor(BatchSpanProcessor(KnownAttributesExporter(OTLPSpanExporter())))
            trace.set_tracer_provider(self._traces)
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())] if "METRICS" in signals else []
        self._metrics = MeterProvider(readers, resource=resource, shutdown_on_exit=False) if readers else None
        if self._metrics is not None:
            metrics.set_meter_provider(self._metrics)
        self._tracer = (self._traces or NoOpTracerProvider()).get_tracer(SCOPE)
        meter = (self._metrics or NoOpMeterProvider()).get_meter(SCOPE)

        def histogram(name: str, unit: str, description: str, buckets: Sequence[float]) -> Histogram:
            return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=buckets)

        self._server_s = histogram("mcp.server.operation.duration", "s", "Answers of the endpoint.", SECONDS)
        self._client_s = histogram("mcp.client.operation.duration", "s", "Calls of servers' tools.", SECONDS)
        self._decision_s = histogram("wayfare.decision.duration", "s", "Routing decisions.", SECONDS)
        self._shown = histogram("wayfare.decision.shown_tokens", "{token}", "Tokens put before the model.", TOKENS)
        self._spent = meter.create_counter("wayfare.call.cost", "USD", "Declared prices of calls that were charged.")

    def decided(self, decision: Decision, origin: str) -> None:
        duration_s = decision.timings_ms["total"] / 1e3
        common: Attributes = {
            "wayfare.router": decision.router,
            "wayfare.catalog": decision.catalog,
            "wayfare.origin": origin,
        }
        now = time.time_ns()
        span = self._tracer.start_span(
            f"route {decision.router}",
            kind=SpanKind.INTERNAL,
            attributes={**common, **_numbers(decision)},
            start_time=now - int(duration_s * 1e9),
        )
        span.end(now)
        self._decision_s.record(duration_s, common)
        self._shown.record(decision.tokens["exposed"], common)

    @contextmanager
    def calling(self, call: ToolCall, origin: str) -> Generator[Ended]:
        """Makes the span `execute_tool` of the conventions for generative AI."""
        name = f"{call.server}::{call.tool}"
        common: Attributes = {
            "mcp.method.name": "tools/call",
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
        }
        more: Attributes = {"wayfare.catalog": call.catalog, "wayfare.server": call.server, "wayfare.origin": origin}
        if call.decision_id is not None:
            more["wayfare.decision.id"] = call.decision_id
        with self._tracer.start_as_current_span(
            f"execute_tool {name}",
            kind=SpanKind.INTERNAL,
            attributes={**common, **more},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:

            def ended(outcome: Outcome) -> None:
                kind = "" if outcome.kind.success else outcome.kind.value
                span.set_attributes(_of_outcome(outcome))
                if kind:
                    span.set_attribute("error.type", kind)
                    span.set_status(Status(StatusCode.ERROR))
                labels = {**common, "wayfare.simulated": outcome.simulated, **({"error.type": kind} if kind else {})}
                self._client_s.record(outcome.latency_s, labels)
                if outcome.price_usd:
                    self._spent.add(
                        outcome.price_usd, {"gen_ai.tool.name": name, "wayfare.simulated": outcome.simulated}
                    )

            yield ended

    def answered(self, tool: str, duration_s: float, error: str) -> None:
        labels = {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        self._server_s.record(duration_s, {**labels, **({"error.type": error} if error else {})})

    def close(self) -> None:
        """Sends queued data for at most a few seconds, because the SDK would retry an absent receiver for half a minute."""
        providers = [provider for provider in (self._traces, self._metrics) if provider is not None]
        threads = [threading.Thread(target=provider.shutdown, daemon=True) for provider in providers]
        for thread in threads:
            thread.start()
        until_s = time.monotonic() + CLOSING_S
        for thread in threads:
            thread.join(max(0.0, until_s - time.monotonic()))


def _numbers(decision: Decision) -> Attributes:
    """Returns the decision's numbers under `wayfare.*`, without words of the sub-task."""
    tokens, winner = decision.tokens, decision.winner
    attributes: Attributes = {
        "wayfare.decision.id": decision.id,
        "wayfare.decision.candidates": len(decision.candidates),
        "wayfare.decision.tools": len(decision.tools.ids),
        "wayfare.decision.shown_tokens": tokens["exposed"],
        "wayfare.decision.cached_tokens": tokens["cached"],
        "wayfare.decision.all_tokens": tokens["baseline"],
        "wayfare.decision.statistics_version": decision.statistics_version,
    }
    if decision.fit is not None and decision.fit.nothing is not None:
        attributes["wayfare.decision.nothing_fits"] = float(decision.fit.nothing)
    if winner is not None:
        attributes["wayfare.decision.winner"] = winner.tool
        attributes["wayfare.decision.success"] = float(winner.success)
        attributes["wayfare.decision.expected_s"] = float(winner.time_cost_s)
        attributes["wayfare.decision.utility"] = float(winner.utility)
        if winner.price_usd is not None:
            attributes["wayfare.decision.price_usd"] = float(winner.price_usd)
        if decision.fit is not None:
            attributes["wayfare.decision.fit"] = float(decision.fit.tools[decision.candidates[0]])
    return attributes


def _of_outcome(outcome: Outcome) -> Attributes:
    attributes = {
        "wayfare.call.id": outcome.id,
        "wayfare.call.outcome": outcome.kind.value,
        "wayfare.call.mode": outcome.mode.value,
        "wayfare.call.latency_s": outcome.latency_s,
        "wayfare.call.connect_s": outcome.connect_s,
        "wayfare.call.attempts": outcome.attempts,
        "wayfare.call.price_usd": outcome.price_usd,
        "mcp.protocol.version": outcome.protocol_version or None,
    }
    return {name: value for name, value in attributes.items() if value is not None}
