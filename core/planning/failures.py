"""Why a model gave no answer, in one sentence: who was asked, what happened, what to do; never with the key.

>>> failure(TimeoutError("no answer"), "small", "http://ann:pw@127.0.0.1:9/v1", secret="k-1", attempts=3)
"The model 'small' at 127.0.0.1:9/v1 cannot be reached or failed after 3 attempts (no answer); check WAYFARE_LLM_BASE_URL, or choose planner=rules."
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from core.planning.litellm_client import TooLargeError
from core.planning.model_replies import one_line

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
    """Whether the same question may be answered a moment later."""
    return _status(problem) in _PASSING and not _too_large(problem)


def failure(problem: Exception, model: str, base_url: str, *, secret: str, attempts: int) -> str:
    """The sentence. litellm gives every problem the status of HTTP that it comes closest to."""
    who = f"The model {model!r}" + (f" at {_address(base_url)}" if base_url else "")
    what, advice = _ENDLESS if _too_large(problem) else _KINDS.get(_status(problem), _UNREACHABLE)
    tried = f" after {attempts} attempts" if attempts > 1 else ""
    said = _cause(problem, secret)
    return f"{who} {what}{tried}{f' ({said})' if said else ''}; {advice}."


def _status(problem: Exception) -> int:
    status = getattr(problem, "status_code", 0)
    return status if isinstance(status, int) else 0


def _cause(problem: Exception, secret: str) -> str:
    """What the endpoint itself said, without litellm's prefixes and without the key."""
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
    """Host, port and path of a URL: without user, password and query."""
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or '?'}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return "its address"
