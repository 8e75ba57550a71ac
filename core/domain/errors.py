"""The errors that a user can cause. Each message says the fault, its place, and the remedy."""


class WayfareError(Exception):
    """Bad input or an impossible request. The message is a sentence for a screen."""


class Refusal(WayfareError):
    """A refused request of a client: a short name of the error, the reason, and advice."""

    def __init__(self, error: str, why: str, advice: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.why} {self.advice}"

    @property
    def document(self) -> dict[str, str]:
        return {"error": self.error, "why": self.why, "try": self.advice}


class InsufficientScopeError(WayfareError):
    """A valid access token without the scope of the endpoint."""


class ParameterError(WayfareError):
    """An unknown parameter, or a value that it does not admit."""


class CatalogError(WayfareError):
    """An invalid catalog, client configuration or task file."""


class UnknownNameError(WayfareError):
    """An unknown server, tool, catalog or router."""


class StoreError(WayfareError):
    """The store cannot be opened or written."""


class StoreBusyError(StoreError):
    """The store exists and cannot be written, because another process has it or it is read-only."""


class PlannerError(WayfareError):
    """The chosen planner cannot answer: no model is set, or it gave no usable answer in time."""
