"""What services say to telemetry. This one is off: it keeps nothing and imports nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from core.domain.decision import Decision
from core.domain.outcome import Outcome, ToolCall
from core.shared.errors import WayfareError

Ended = Callable[[Outcome], None]


class Telemetry:
    """Thread-safe."""

    def decided(self, decision: Decision, origin: str) -> None:
        """A decision was made just now."""

    @contextmanager
    def calling(self, call: ToolCall, origin: str) -> Generator[Ended]:  # noqa: ARG002
        """Around a call; what is sent to the server inside has its trace. The body says how it ended."""
        yield _nothing

    def answered(self, tool: str, duration_s: float, error: str) -> None:
        """The endpoint answered a call of one of its own tools; `error` is a short name, "" where it did what was asked."""

    def close(self) -> None:
        """Send what is left."""


def _nothing(_: Outcome) -> None:
    pass


OFF = Telemetry()


# ----------------------------------------------------------------------------------------------------------------------
# Whether telemetry is on: the variables of OpenTelemetry decide.

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
SIGNALS = ("TRACES", "METRICS")


def wanted_signals(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The signals that are exported: those with an address, unless they or the SDK are switched off.

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
    """What the variables ask for. Raises WayfareError where it is not installed, or in a form that is not spoken."""
    signals = wanted_signals(environment)
    if not signals:
        return OFF
    for name in ("OTEL_EXPORTER_OTLP_PROTOCOL", *(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL" for signal in signals)):
        if environment.get(name, "") not in {"", "http/protobuf"}:
            raise WayfareError(f"{name}={environment[name]}: telemetry is sent as http/protobuf alone.")
    try:
        from core.telemetry.otel import OpenTelemetry
    except ImportError as error:
        raise WayfareError(
            f"OTEL_* variables ask for telemetry and {error.name} is not installed: pip install 'wayfare[telemetry]', "
            "or unset them."
        ) from error
    return OpenTelemetry(signals)
