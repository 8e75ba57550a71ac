"""Telemetry: Wayfare's decisions, calls and answers as OpenTelemetry spans and metrics, switched on by OTEL_* variables.

Only `otel.py` imports the SDK. Names, numbers and kinds of errors leave the machine; sub-tasks, arguments, results and texts of errors
do not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.outcome import Outcome, ToolCall

Ended = Callable[[Outcome], None]


class Telemetry:
    """The interface that services call. It is off: it keeps nothing and imports nothing. Thread-safe."""

    def decided(self, decision: Decision, origin: str) -> None:
        """Records a decision that was made just now."""

    @contextmanager
    def calling(self, call: ToolCall, origin: str) -> Generator[Ended]:  # noqa: ARG002
        """Surrounds a call; requests inside carry its trace. The body passes the outcome to the function that it gets."""
        yield lambda _: None

    def answered(self, tool: str, duration_s: float, error: str) -> None:
        """Records an answer of one of the endpoint's own tools; `error` is a short name, "" on success."""

    def close(self) -> None:
        """Sends queued data."""


OFF = Telemetry()


ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("TRACES", "METRICS")


def wanted_signals(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the signals to export: those with an address, unless they or the SDK are switched off.

    >>> wanted_signals({}), wanted_signals({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"})
    ((), ('TRACES', 'METRICS'))
    >>> wanted_signals({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_METRICS_EXPORTER": "none"})
    ('TRACES',)
    >>> wanted_signals({"OTEL_METRICS_EXPORTER": "otlp"}), wanted_signals({"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true"})
    (('METRICS',), ())
    """
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()

    def is_wanted(signal: str) -> bool:
        if exporter := environment.get(f"OTEL_{signal}_EXPORTER", "").strip():
            return exporter == "otlp"
        return any(environment.get(name, "").strip() for name in (ENDPOINT, f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))

    return tuple(signal for signal in SIGNALS if is_wanted(signal))


def telemetry_of(environment: Mapping[str, str]) -> Telemetry:
    """Returns the telemetry that the variables ask for. Raises WayfareError if its packages are not installed or the
    protocol is not supported."""
    signals = wanted_signals(environment)
    if not signals:
        return OFF
    for name in ("OTEL_EXPORTER_OTLP_PROTOCOL", *(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL" for signal in signals)):
        if environment.get(name, "") not in {"", "http/protobuf"}:
            raise WayfareError(f"{name}={environment[name]}: telemetry is sent only as http/protobuf.")
    try:
        from core.telemetry.otel import OpenTelemetry
    except ImportError as error:
        raise WayfareError(
            f"OTEL_* variables ask for telemetry and {error.name} is not installed: pip install 'wayfare[telemetry]', "
            "or unset them."
        ) from error
    return OpenTelemetry(signals)
