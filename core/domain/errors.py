"""The errors a user can cause. Each message says what is wrong, where, and what to do."""


class WayfareError(Exception):
    """Bad input or an impossible request; the message is one sentence fit for a screen."""


class Refusal(WayfareError):
    """A request of a client that is refused: a short name of the error, the reason, and advice."""

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
    """An access token that is good, and lacks the scope of the endpoint."""


class ParameterError(WayfareError):
    """A parameter that does not exist or a value it does not admit."""


class CatalogError(WayfareError):
    """A catalog, client configuration or task file that cannot be taken."""


class UnknownNameError(WayfareError):
    """A server, tool, catalog or router that is not there."""


class StoreError(WayfareError):
    """The store cannot be opened or written."""


class StoreBusyError(StoreError):
    """The store is there, and not for us to write: another process has it, or it may only be read."""


class PlannerError(WayfareError):
    """The planner that was chosen cannot answer: no model is set, or it gave no usable answer in time."""
