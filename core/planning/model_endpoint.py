"""A question to a language model through litellm, which is loaded on first use. Answers are bounded, errors are one
sentence.

litellm is configured not to fetch its price table and lists of headers, read a `.env` file of the folder, print hints,
or retry by itself.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx

from core.domain.errors import PlannerError
from core.planning.model_replies import one_line

# litellm carries few types
# pyright: reportUnknownVariableType=false, reportPrivateImportUsage=false, reportUnknownMemberType=false, reportUnknownArgumentType=false


ANSWER_LIMIT_BYTES = 2_000_000
QUIET = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
NOT_INSTALLED = 'A language model is asked through litellm, which is not installed; run `pip install "wayfare[llm]"`.'
_loading = threading.Lock()
_loaded: list[Any] = []


def litellm_module() -> Any:
    """Returns the package, loaded once (about 2 s). Raises PlannerError if it is not installed."""
    with _loading:
        if not _loaded:
            _loaded.append(_load())
        return _loaded[0]


def _load() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)  # a value that is set stays
    try:
        import litellm
    except ImportError:
        raise PlannerError(NOT_INSTALLED) from None

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.turn_off_message_logging = True
    litellm.client_session = httpx.Client(event_hooks={"response": [bounded]})
    return litellm


class TooLargeError(httpx.StreamError):
    """An answer exceeds the limit of bytes."""


def bounded(response: httpx.Response) -> None:
    """Ends an answer after this many bytes, and after the total time that its request allows for reading."""
    allowed_s = response.request.extensions.get("timeout", {}).get("read")
    ends = None if allowed_s is None else time.monotonic() + allowed_s
    if isinstance(response.stream, httpx.SyncByteStream):
        response.stream = _Bounded(response.stream, ends)


class _Bounded(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, ends: float | None) -> None:
        self._inner = inner
        self._left = ANSWER_LIMIT_BYTES
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLargeError("the answer is too large")
            if self._ends is not None and time.monotonic() > self._ends:
                raise httpx.ReadTimeout("the answer took too long")
            yield chunk

    def close(self) -> None:
        self._inner.close()


# Failures in one sentence: the endpoint, what happened, what to do; never the key

DETAIL_CHARACTERS = 200
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_UNREACHABLE = ("cannot be reached or failed", "check WAYFARE_LLM_BASE_URL, or choose planner=rules")
_REFUSED_KEY = ("refused the key", "check WAYFARE_LLM_API_KEY")
_REFUSED_REQUEST = ("refused the request", "check WAYFARE_LLM_MODEL and WAYFARE_LLM_BASE_URL")
_ENDLESS = ("gave an answer without end", "choose another model, or planner=rules")
_KINDS: Mapping[int, tuple[str, str]] = {
    400: _REFUSED_REQUEST,
    401: _REFUSED_KEY,
    403: _REFUSED_KEY,
    404: ("is not there", "check WAYFARE_LLM_MODEL and WAYFARE_LLM_BASE_URL"),
    408: ("did not answer in time", "try again, or choose planner=rules"),
    422: _REFUSED_REQUEST,
    429: ("takes no more requests now", "wait a little, or choose planner=rules"),
}


def passes(problem: Exception) -> bool:
    """Whether the same question may get an answer a moment later."""
    return _status(problem) in _PASSING and not _too_large(problem)


def failure(problem: Exception, model: str, base_url: str, *, secret: str, attempts: int) -> str:
    """Returns the sentence. litellm gives every problem the nearest HTTP status.

    >>> failure(TimeoutError("no answer"), "small", "http://ann:pw@127.0.0.1:9/v1", secret="k-1", attempts=3).partition("; ")[0]
    "The model 'small' at 127.0.0.1:9/v1 cannot be reached or failed after 3 attempts (no answer)"
    """
    who = f"The model {model!r}" + (f" at {_address(base_url)}" if base_url else "")
    what, advice = _ENDLESS if _too_large(problem) else _KINDS.get(_status(problem), _UNREACHABLE)
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    said = _cause(problem, secret)
    return f"{who} {what}{tried}{f' ({said})' if said else ''}; {advice}."


def _status(problem: Exception) -> int:
    status = getattr(problem, "status_code", 0)
    return status if isinstance(status, int) else 0


def _cause(problem: Exception, secret: str) -> str:
    """Returns the endpoint's own words, without litellm's prefixes and without the key."""
    text = str(problem).partition("Received response")[0].strip()
    text = re.sub(r"^(?:litellm\.)?(?:\w+(?:Error|Timeout|Exception)\s*(?:-|:)\s*)+", "", text)
    return one_line(text.replace(secret, "***") if secret else text, DETAIL_CHARACTERS).rstrip(".")


def _too_large(problem: BaseException | None) -> bool:
    while problem is not None:
        if isinstance(problem, TooLargeError):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _address(url: str) -> str:
    """Returns host, port and path of a URL, without user, password and query."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "its address"


# One question, one answer: any endpoint that speaks the chat-completions protocol
# A passing problem (too many requests, an error of the server, no connection, no answer in time) is tried again after a wait that
# doubles. Any other is raised at once.

ATTEMPTS = 3
WAIT_S = 0.5
TIMEOUT_S = 20.0
ANSWER_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class Message:
    """A question: what to do (`system`), on what (`user`), and the JSON schema of the answer."""

    system: str
    user: str
    schema: Mapping[str, Any]
    name: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer's text with its usage. `cost_usd` is None for an unknown price. `whole` is False if it was cut off."""

    text: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    whole: bool = True


class Endpoint(Protocol):
    """An endpoint of a model."""

    model: str

    def ask(self, message: Message) -> Reply:
        """Returns one answer. Raises PlannerError without one."""
        ...


@dataclass
class LiteLlmEndpoint:
    """A model by its name, at `base_url`, or at the provider in its name."""

    model: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    timeout_s: float = TIMEOUT_S
    answer_tokens: int = ANSWER_TOKENS
    sleep: Callable[[float], None] = time.sleep
    plain: bool = False
    """Whether the endpoint has refused schemas."""

    def ask(self, message: Message) -> Reply:
        """Returns one answer, after at most three attempts. Raises PlannerError without one, or without litellm."""
        litellm_module()
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._once(message)
            except Exception as problem:  # noqa: BLE001  litellm raises many kinds
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
            max_tokens=self.answer_tokens,
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
            cost_usd=self.price_usd(read, written),
            whole=choice is None or choice.finish_reason != "length",
        )

    def price_usd(self, read: int, written: int) -> float | None:
        """Returns the price of tokens from litellm's table, or None for an unknown model, or if the endpoint does not
        count tokens. Raises PlannerError without litellm."""
        litellm = litellm_module()
        if not read:
            return None
        provider = "openai" if self.base_url else None
        try:
            costs = litellm.cost_per_token(
                model=self.model, custom_llm_provider=provider, prompt_tokens=read, completion_tokens=written
            )
        except Exception:  # noqa: BLE001  litellm raises many kinds for an unknown model
            return None
        return float(sum(costs))
