"""One question to a language model, one answer: any endpoint that speaks the chat-completions protocol, through litellm.

What may pass (too many requests, an error of the server, no connection, no answer in time) is tried again after a wait that
doubles; what will not is said at once, in one sentence without the key (`failures`).
"""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.planning.failures import failure, passes
from core.planning.litellm_client import litellm_module
from core.shared.errors import PlannerError

ATTEMPTS = 3
WAIT_S = 0.5
TIMEOUT_S = 20.0
ANSWER_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class Message:
    """What is sent: what to do (`system`), on what (`user`), and the JSON schema that the answer has to follow."""

    system: str
    user: str
    schema: Mapping[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer's text with what it took; `cost_usd` is None where the price is not known. `whole`: it was not cut off."""

    text: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    whole: bool = True


class Endpoint(Protocol):
    """Where a model answers."""

    model: str

    def ask(self, message: Message) -> Reply:
        """One answer. Raises PlannerError where there is none."""
        ...


@dataclass
class LiteLlmEndpoint:
    """A model by its name; with `base_url` the endpoint that serves it, without one the provider that the name says."""

    model: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    timeout_s: float = TIMEOUT_S
    sleep: Callable[[float], None] = time.sleep
    plain: bool = False
    """Whether the endpoint was found not to take schemas."""

    def ask(self, message: Message) -> Reply:
        """One answer, after at most three attempts."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(message)
            except Exception as problem:  # noqa: BLE001  litellm raises many kinds: what they say goes into one
                if attempt == ATTEMPTS or not passes(problem):
                    said = failure(problem, self.model, self.base_url, secret=self.key, attempts=attempt)
                    raise PlannerError(said) from None
            self.sleep(WAIT_S * 2 ** (attempt - 1))
        raise AssertionError("unreachable")

    def _once(self, message: Message) -> Reply:
        litellm = litellm_module()
        if self.plain:
            return self._completed(litellm, message, {})
        schema = {
            "type": "json_schema",
            "json_schema": {"name": message.name, "strict": True, "schema": dict(message.schema)},
        }
        try:
            return self._completed(litellm, message, {"response_format": schema})
        except (litellm.BadRequestError, litellm.UnprocessableEntityError, litellm.UnsupportedParamsError):
            reply = self._completed(litellm, message, {})  # a refusal of everything is raised here
            self.plain = True
            return reply

    def _completed(self, litellm: Any, message: Message, options: dict[str, Any]) -> Reply:
        served = {"custom_llm_provider": "openai", "api_base": self.base_url} if self.base_url else {}
        answer = litellm.completion(
            model=self.model,
            messages=[{"role": "system", "content": message.system}, {"role": "user", "content": message.user}],
            api_key=self.key or ("none" if self.base_url else None),
            timeout=self.timeout_s,
            temperature=0,
            max_tokens=ANSWER_TOKENS,
            num_retries=0,
            max_retries=0,
            **served,
            **options,
        )
        choice = answer.choices[0] if answer.choices else None
        usage = getattr(answer, "usage", None)
        read, written = int(getattr(usage, "prompt_tokens", 0) or 0), int(getattr(usage, "completion_tokens", 0) or 0)
        return Reply(
            text=str((choice and choice.message.content) or ""),
            input_tokens=read,
            output_tokens=written,
            cost_usd=self._price(litellm, read, written),
            whole=choice is None or choice.finish_reason != "length",
        )

    def _price(self, litellm: Any, read: int, written: int) -> float | None:
        """By litellm's table; None where the model is not in it or the endpoint does not say how many tokens it took."""
        if not read:
            return None
        provider = "openai" if self.base_url else None
        try:
            costs = litellm.cost_per_token(
                model=self.model, custom_llm_provider=provider, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001  litellm raises what it likes for a model that it does not know
            return None
        return float(sum(costs))
