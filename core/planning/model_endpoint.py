"""Asks a language model at any endpoint that speaks OpenAI's protocol. Answers are bounded, errors are one
sentence.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, cast
from urllib.parse import urlsplit

import anyio
import httpx2

from core.domain.errors import PlannerError
from core.domain.progress import made_once
from core.domain.untrusted_text import one_line
from core.importers.token_meter import model_price
from core.planning.base import BASE_URL, KEY, MODEL, Watch, who_waits

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_certificates = made_once(httpx2.create_ssl_context)  # takes 30 ms


# Failures in one sentence: the endpoint, the event, the remedy; never the key

DETAIL_CHARACTERS = 200
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_UNREACHABLE = ("cannot be reached or failed", "check WAYFARE_LLM_BASE_URL, or choose planner=rules")
_REFUSED_KEY = ("refused the key", "check WAYFARE_LLM_API_KEY")
_REFUSED_REQUEST = ("refused the request", "check WAYFARE_LLM_MODEL and WAYFARE_LLM_BASE_URL")
_ENDLESS = ("gave an answer without end", "choose another model, or planner=rules")
_KINDS: Mapping[int | None, tuple[str, str]] = {
    400: _REFUSED_REQUEST,
    401: _REFUSED_KEY,
    403: _REFUSED_KEY,
    404: ("is not there", "check WAYFARE_LLM_MODEL and WAYFARE_LLM_BASE_URL"),
    408: ("did not answer in time", "try again, or choose planner=rules"),
    422: _REFUSED_REQUEST,
    429: ("takes no more requests now", "wait a little, or choose planner=rules"),
}


def passes(problem: Exception) -> bool:
    """Whether a second attempt may succeed: not after a refusal or an endless answer."""
    status = _status(problem)
    return (status is None or status in _PASSING) and not _too_large(problem)


def failure(problem: Exception, model: str, base_url: str, *, secret: str, attempts: int) -> str:
    """Describes a failure in one sentence.

    >>> failure(OSError("no answer"), "small", "http://ann:pw@127.0.0.1:9/v1", secret="k-1", attempts=3).partition("; ")[0]
    "The model 'small' at 127.0.0.1:9/v1 cannot be reached or failed after 3 attempts (no answer)"
    """
    subject = f"The model {model!r}" + (f" at {_address(base_url)}" if base_url else "")
    event, advice = _ENDLESS if _too_large(problem) else _KINDS.get(_status(problem), _UNREACHABLE)
    after = f" after {attempts} attempts" if attempts > 1 else ""
    cause = _cause(problem, secret)
    return f"{subject} {event}{after}{f' ({cause})' if cause else ''}; {advice}."


def _status(problem: Exception) -> int | None:
    return 408 if isinstance(problem, TimeoutError) else getattr(problem, "status_code", None)


def _cause(problem: Exception, secret: str) -> str:
    body: Any = getattr(problem, "body", None)
    message = cast("dict[str, Any]", body).get("message") if isinstance(body, dict) else body
    text = message if isinstance(message, str) else str(problem.__cause__ or problem)
    return one_line(text.replace(secret, "***") if secret else text, DETAIL_CHARACTERS).rstrip(".")


def _too_large(problem: BaseException | None) -> bool:
    while problem is not None:
        if isinstance(problem, _TooLargeError):
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


# Providers by the first part of a model's name, as in openai/gpt-4o-mini

PROVIDERS: Mapping[str, str] = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "xai": "https://api.x.ai/v1",
    "cohere": "https://api.cohere.ai/compatibility/v1",
    "together_ai": "https://api.together.xyz/v1",
    "fireworks_ai": "https://api.fireworks.ai/inference/v1",
    "perplexity": "https://api.perplexity.ai",
    "ollama": "http://localhost:11434/v1",
    "lm_studio": "http://localhost:1234/v1",
    "hosted_vllm": "http://localhost:8000/v1",
}
MAKERS = ("openai", "anthropic", "gemini")  # their models are known without a first part, too


def provider_of(model: str) -> tuple[str, str]:
    """Returns the provider, and the model's name there. Raises PlannerError if the name has no known provider.

    >>> provider_of("groq/llama-3.3-70b"), provider_of("gpt-4o-mini"), provider_of("claude-sonnet-4-5")
    (('groq', 'llama-3.3-70b'), ('openai', 'gpt-4o-mini'), ('anthropic', 'claude-sonnet-4-5'))
    """
    provider, slash, name = model.partition("/")
    if slash and provider in PROVIDERS:
        return provider, name
    for maker in MAKERS:
        if model_price(model, PROVIDERS[maker]).input_usd is not None:
            return maker, model
    raise PlannerError(
        f"The model {model!r} is of no known provider; set WAYFARE_LLM_BASE_URL to its endpoint, or write the provider before "
        f"the name, as in openai/gpt-4o-mini (known: {', '.join(PROVIDERS)})."
    )


# One question, one answer
# A passing problem (too many requests, an error of the server, no connection, no answer in time) is tried again after a wait that
# doubles. Any other problem is raised at once.

ATTEMPTS = 3
WAIT_S = 0.5
TIMEOUT_S = 120.0  # a model of a few billion parameters on a laptop takes about a minute
ANSWER_TOKENS = 1_500


@dataclass(frozen=True, slots=True)
class Message:
    """A question: the task (`system`), its data (`user`), and the JSON schema of the answer."""

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
    model: str

    def ask(self, message: Message) -> Reply: ...


CUT = "length"
"""The finish reason of an answer that was cut off."""


class _NoStreamError(Exception):
    """An endpoint sent no stream although it was asked for one."""


async def _streamed(chunks: AsyncIterator[Any], watch: Watch) -> tuple[str, bool, Any]:
    """Returns the text of a stream, whether it is whole, and its usage. The watch sees each token."""
    text, end, usage = list[str](), "", None
    async for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices[:1]:
            text.append(choice.delta.content or "")
            end = choice.finish_reason or end
            watch.tokens = (watch.tokens or 0) + bool(choice.delta.content)
    if not end:
        raise _NoStreamError
    return "".join(text), end != CUT, usage


ANSWER_LIMIT_BYTES = 2_000_000
LOOK_S = 0.1


class _TooLargeError(httpx2.StreamError): ...


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left_bytes = ANSWER_LIMIT_BYTES
        async for chunk in self._inner:
            left_bytes -= len(chunk)
            if left_bytes < 0:
                raise _TooLargeError("the answer is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _bounded(response: httpx2.Response) -> None:
    response.stream = _Bounded(cast(httpx2.AsyncByteStream, response.stream))


async def _end_if_stopped(watch: Watch, asking: anyio.CancelScope) -> None:
    while not watch.stop.is_set():
        await anyio.sleep(LOOK_S)
    asking.cancel()


LIMIT = "WAYFARE_LLM_TIMEOUT_S"


def endpoint_of(
    environment: Mapping[str, str], model: str = "", *, answer_tokens: int = ANSWER_TOKENS
) -> ModelEndpoint:
    """Returns the model of a name, or the model that the environment names. Raises PlannerError without a name, for an address that
    is none, or for a limit that is no number above 0."""
    name, url, key, limit = (environment.get(variable, "").strip() for variable in (MODEL, BASE_URL, KEY, LIMIT))
    if not (model or name):
        raise PlannerError(f"No model is named; give --model NAME or set {MODEL}, with {BASE_URL} and {KEY} if needed.")
    try:
        httpx2.URL(url)
    except httpx2.InvalidURL:  # its text may quote a part of a password
        raise PlannerError(f"{BASE_URL} is no web address; give one, as {PROVIDERS['ollama']}.") from None
    try:
        limit_s = float(limit or TIMEOUT_S)
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s < float("inf"):
        raise PlannerError(f"{LIMIT} is {limit!r}; give seconds above 0, as {TIMEOUT_S:g}.")
    return ModelEndpoint(model or name, url, key, limit_s, answer_tokens)


STOPPED = "The model's answer was stopped before its end."
NOT_INSTALLED = 'A language model is asked through openai, which is not installed; run `pip install "wayfare[llm]"`.'


@dataclass
class ModelEndpoint:
    """A model by its name, at `base_url` or at the provider in its name."""

    model: str
    base_url: str = ""
    key: str = field(default="", repr=False)
    timeout_s: float = TIMEOUT_S
    answer_tokens: int = ANSWER_TOKENS
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    refused: frozenset[str] = frozenset()
    """The options that the endpoint has refused, such as schemas."""

    def ask(self, message: Message) -> Reply:
        """Returns an answer, after at most three attempts. It is streamed to the current watch. Raises PlannerError without an answer,
        without openai, or if the watch is stopped."""
        if find_spec("openai") is None:
            raise PlannerError(NOT_INSTALLED)
        answer = anyio.run(self._asked, message, who_waits())
        if isinstance(answer, Reply):
            return answer
        raise PlannerError(answer)

    async def _asked(self, message: Message, watch: Watch | None) -> Reply | str:
        import openai

        name, url, key = self._served()
        answer: Reply | str = STOPPED
        async with (
            httpx2.AsyncClient(verify=_certificates(), event_hooks={"response": [_bounded]}) as http,
            openai.AsyncOpenAI(
                base_url=url, api_key=key or "none", timeout=None, max_retries=0, http_client=http
            ) as client,
            anyio.create_task_group() as tasks,
        ):
            if watch is not None:
                watch.tokens = 0
                tasks.start_soon(_end_if_stopped, watch, tasks.cancel_scope)
            answer = await self._tried(client, name, message, watch)
            tasks.cancel_scope.cancel()
        if watch is not None:
            watch.tokens = None
        return answer

    async def _tried(self, client: AsyncOpenAI, name: str, message: Message, watch: Watch | None) -> Reply | str:
        """Returns an answer, or the reason why every attempt failed."""
        attempt = 0
        while True:
            attempt += 1
            try:
                with anyio.fail_after(self.timeout_s):
                    return await self._once(client, name, message, watch)
            except Exception as error:  # noqa: BLE001  an answer can have any shape
                late = isinstance(error, TimeoutError)
                problem = TimeoutError(f"{self.timeout_s:g} s") if late else error
                if late or attempt == ATTEMPTS or not passes(problem):
                    return failure(problem, self.model, self.base_url, secret=self._served()[2], attempts=attempt)
            await self.sleep(WAIT_S * 2 ** (attempt - 1))

    def _served(self) -> tuple[str, str, str]:
        """Returns the model's name at the endpoint, the address, and the key, which a provider's own variable may hold."""
        if self.base_url:
            return self.model.removeprefix("openai/"), self.base_url, self.key
        provider, name = provider_of(self.model)
        return name, PROVIDERS[provider], self.key or os.environ.get(f"{provider.upper()}_API_KEY", "")

    async def _once(self, client: AsyncOpenAI, name: str, message: Message, watch: Watch | None) -> Reply:
        """Asks without the options that the endpoint refuses: schemas, streams, or for models that reason a temperature."""
        import openai

        schema = {"name": message.name, "strict": True, "schema": dict(message.schema)}
        options: dict[str, Any] = {
            "temperature": 0,
            "max_tokens": self.answer_tokens,
            "response_format": {"type": "json_schema", "json_schema": schema},
        }
        if watch is not None:
            options |= {"stream_options": {"include_usage": True}, "stream": True}
        refused_options = set(self.refused)
        while True:
            sent_options = {option: value for option, value in options.items() if option not in refused_options}
            if "max_tokens" in refused_options:
                sent_options["max_completion_tokens"] = self.answer_tokens
            try:
                reply = await self._completed(client, name, message, sent_options, watch)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as problem:
                suspects = (problem.param, "response_format", "stream_options")
                refusal = next((option for option in suspects if option in sent_options), None)
                if refusal is None:
                    raise
                refused_options.add(refusal)
            except _NoStreamError:
                refused_options |= {"stream_options", "stream"}
            else:
                self.refused = frozenset(refused_options)
                return reply

    async def _completed(
        self, client: AsyncOpenAI, name: str, message: Message, options: Mapping[str, Any], watch: Watch | None
    ) -> Reply:
        create: Any = client.chat.completions.create
        note = "" if "response_format" in options else f"\nThe schema: {json.dumps(dict(message.schema))}"
        messages = [{"role": "system", "content": message.system + note}, {"role": "user", "content": message.user}]
        try:
            answer = await create(model=name, messages=messages, **options)
            if watch is not None and "stream" in options:
                text, whole, usage = await _streamed(answer, watch)
            else:
                choice = answer.choices[0] if answer.choices else None
                text, whole = (choice and choice.message.content) or "", choice is None or choice.finish_reason != CUT
                usage = answer.usage
            read, written = (int(getattr(usage, f"{kind}_tokens", 0) or 0) for kind in ("prompt", "completion"))
        except (AttributeError, LookupError, TypeError, ValueError):
            raise ValueError("not a chat completion") from None
        return Reply(str(text), read, written, self.price_usd(read, written), whole)

    def price_usd(self, read: int, written: int) -> float | None:
        """Returns the price of tokens, or None for an unknown model, or if the endpoint does not count tokens. Raises
        WayfareError without genai-prices."""
        name, url, _ = self._served()
        price = model_price(name, url)
        if not read or price.input_usd is None:
            return None
        return read * price.input_usd + written * (price.output_usd or 0.0)
