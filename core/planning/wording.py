"""A question in other words: cleaned (`rewrite`) and as a short description of the tool that would answer it (`predict_tool`).

>>> rewrite("Hi there! Could you please find me a good dentist in Utrecht, because mine has retired? Thanks")
'find me a good dentist in Utrecht?'
>>> predict_tool("what's the weather going to be like in Oslo on friday?")
'weather: get the weather going to be like in place on date'
"""

from __future__ import annotations

import re

from core.planning.base import ToolRequest
from core.planning.clauses import sentences
from core.planning.domains import domains
from core.planning.lexicon import STOP_WORDS
from core.planning.literals import HELD, masked, stripped
from core.planning.synonyms import reworded

_SHORT = {
    "pls": "please", "plz": "please", "u": "you", "ur": "your", "r": "are", "w/": "with", "w/o": "without", "thx": "thanks",
    "ty": "thanks", "msg": "message", "msgs": "messages", "pic": "picture", "pics": "pictures", "info": "information",
    "tmrw": "tomorrow", "tmr": "tomorrow", "asap": "soon", "btw": "", "im": "I am", "ive": "I have", "dont": "don't",
    "cant": "can't", "whats": "what's", "wheres": "where's", "hows": "how's", "wanna": "want to", "gonna": "going to",
    "gotta": "have to", "lemme": "let me", "gimme": "give me", "appt": "appointment", "mtg": "meeting", "addr": "address",
    "repo": "repository", "db": "database", "docs": "documents", "doc": "document", "temp": "temperature", "max": "maximum",
    "min": "minimum", "avg": "average", "approx": "approximately", "teh": "the", "adress": "address", "recieve": "receive",
    "seperate": "separate", "definately": "definitely", "occured": "occurred", "wether": "whether", "calender": "calendar",
    "tommorow": "tomorrow", "tomorow": "tomorrow", "acommodation": "accommodation", "recomend": "recommend",
    "transalte": "translate", "trasnlate": "translate", "wheather": "weather", "emial": "email", "serach": "search",
}  # fmt: skip
_SHORT_WORD = re.compile(r"(?<![\w/@.'-])(?:" + "|".join(map(re.escape, sorted(_SHORT, key=len, reverse=True))) + r")(?![\w/@'-])", re.IGNORECASE)  # fmt: skip
_GREETING = re.compile(r"^\s*(?:(?:hi|hello|hey|dear|good (?:morning|afternoon|evening|day))\b[^.!,:\n]{0,30}[.!,:\n]\s*|(?:so|ok|okay|well|right),\s+)+", re.IGNORECASE)  # fmt: skip
_THANKS = re.compile(r"[\s,.!-]*\b(?:many thanks|thanks|thank you|cheers|much appreciated|that would be (?:great|lovely|nice))\b(?: in advance| a lot| so much| very much| again)*[\s,.!)]*(?=$|(?<=[.!])\s)", re.IGNORECASE)  # fmt: skip
_ASKED = re.compile(r"\b(?:can|could|would|will|won't|can't) you (?:please |kindly |maybe |perhaps |just |also |quickly )*(?:help me (?:to )?)?(?=[a-z])|\b(?:i(?:'d| would) (?:like|love)|i (?:need|want)) you to |\bwould you mind \b|\b(?:please|kindly)\b,? ?|\bhelp me (?:to )?(?=[a-z])|\bi was wondering (?:if|whether) you (?:could|can) ", re.IGNORECASE)  # fmt: skip
_REASON = re.compile(r",? (?:because|since (?=i|we|my|our|they|he|she|it)|so that|so (?=i|we)|as (?=i\b|we\b)|in order to|otherwise)\b[^.!?;\n]{0,400}", re.IGNORECASE)  # fmt: skip
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday|today|tomorrow|tonight|yesterday"
_DATE = re.compile(rf"\b(?:(?:(?:next|last|this) )?(?:{_DAYS})(?:,? \d{{1,2}}(?: (?:{_MONTHS}))?)?|\d{{4}}-\d\d-\d\d(?:[t ]\d\d:\d\d\S*)?|(?:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )(?:{_MONTHS})(?:,? \d{{4}})?|(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|(?:{_MONTHS}) \d{{4}}|(?:19|20)\d\d)\b", re.IGNORECASE)  # fmt: skip
_TIME = re.compile(r"\b\d{1,2}(?::\d\d(?: ?[ap]m)?| ?[ap]m\b| o'clock)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w-])[$€£#]?\d[\d.,:]*(?:st|nd|rd|th)?%?(?![\w-])")
_IDENTIFIER = re.compile(r"(?<!\w)(?=[\w/.:-]*\d)(?=[\w/.:-]*[A-Za-z/])[\w/.:-]{4,}")
_LANGUAGES = "Arabic|Chinese|Czech|Danish|Dutch|English|Finnish|French|German|Greek|Hindi|Hungarian|Italian|Japanese|Korean|Latin|Norwegian|Polish|Portuguese|Russian|Spanish|Swedish|Turkish|Ukrainian"
_PLACE = re.compile(rf"\b(in|near|at|around|from|to|between|towards) (?!(?:{_LANGUAGES})\b)[A-ZÀ-Þ][a-zß-ÿ][\w'’-]*(?:[ -][A-ZÀ-Þ][\w'’-]+)*(?: (?:and|to) [A-ZÀ-Þ][\w'’-]+)?")  # fmt: skip
_NAME = re.compile(rf"(?<=[a-z,;:] )(?<!use )(?<!with )(?<!via )(?<!on )(?<!ask )(?<!using )(?<!let )(?!(?:{_LANGUAGES})\b)(?![A-Z]{{2,5}}\b)(?!I\b|I')[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)*")
_FORMS = (
    (r"(?:what|which)(?:'s| is| are| was| were)\b", "get"),
    (r"(?:what|which) (?=\w)", "get "),
    (r"how (?:many|often)\b", "count"),
    (r"how much\b", "get amount of"),
    (r"how (?:far|long)\b", "get distance or duration,"),
    (r"how (?:do|can|could|should|does) (?:i|we|you|one)\b", "find how to"),
    (r"who(?:'s| is| are| was| were)?\b", "find who"),
    (r"where(?:'s| is| are| was| were)?\b", "find where"),
    (r"when(?:'s| is| are| was| were| does| do| did| will)?\b", "get date when"),
    (r"(?:is|are|was|were|does|do|did|has|have|can|could|will|should|isn't|didn't) (?=\w.*\?)", "check whether "),
)  # fmt: skip
_FORM = tuple((re.compile(rf"^\W*{pattern}", re.IGNORECASE), verb) for pattern, verb in _FORMS)
DESCRIPTION_CHARACTERS = 400


def rewrite(question: str) -> str:
    """The question without greetings, politeness, thanks and reasons; shorthand and common slips written out."""
    cleaned = " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in question).split(" "))
    for pattern, instead in ((_GREETING, ""), (_THANKS, ""), (_ASKED, ""), (_REASON, "")):
        cleaned = _outside(cleaned, pattern, instead)
    cleaned = _outside(cleaned, _SHORT_WORD, None)
    cleaned = re.sub(r"[ \t]{2,}", " ", cleaned).strip(" \t\n,;")
    return cleaned or question.strip()


def predict_tool(question: str) -> str:
    """What the tool would do, in the manner of a tool's description: names, numbers, dates and literals as their kinds."""
    text = rewrite(question)
    kind = domains(text, 1, clear=True)
    return f"{kind[0].server}: {described(text)}" if kind else described(text)


def described(text: str) -> str:
    """A cleaned question as what a tool does, without the kind of server."""
    parts = [_described(text[start:end]) for start, end in sentences(masked(text))]
    return re.sub(r"\s{2,}", " ", " ".join(part for part in parts if part))[:DESCRIPTION_CHARACTERS].strip(" ,;:") or text


def _described(sentence: str) -> str:
    text = stripped(sentence).strip()
    for pattern, verb in _FORM:
        text, changed = pattern.subn(verb, text, count=1)
        if changed:
            break
    text = _DATE.sub("date", text)
    text = _TIME.sub("time", text)
    text = _PLACE.sub(r"\1 place", text)
    text = _NAME.sub("", text)
    text = _IDENTIFIER.sub("", text)
    text = _NUMBER.sub("", text)
    text = re.sub(r"\s+([,.;:?!])", r"\1", re.sub(r"\s{2,}", " ", text)).strip(" ?!.,;:")
    return text if any(word.lower() not in STOP_WORDS for word in re.findall(r"\w+", text)) else ""


def _outside(text: str, pattern: re.Pattern[str], instead: str | None) -> str:
    """Replace what matches outside of literals; None: by its long form."""
    held = masked(text)
    parts, at = [], 0
    for found in pattern.finditer(held):
        if HELD in found[0]:
            continue
        parts += [text[at : found.start()], _SHORT[found[0].lower()] if instead is None else instead]
        at = found.end()
    return "".join((*parts, text[at:]))


def expand(question: str, count: int = 3) -> tuple[str, ...]:
    """At most `count` other ways to ask the same: as a tool's description, with the kind of server, in other words.

    >>> expand("Please find photos of Lisse tulips", 3)
    ('find photos of tulips', 'find photos of Lisse tulips (pictures)', 'search images of Lisse tulips')
    """
    cleaned = rewrite(question)
    ways = (described(cleaned), _with_kind(cleaned), reworded(cleaned))
    return tuple(way for way in dict.fromkeys(ways) if way and way != question.strip())[: max(0, count)]


def request(question: str) -> ToolRequest:
    """Which kind of server and which kind of tool would do (MCP-Zero's "server: / tool:").

    >>> request("Do I need an umbrella in Oslo tomorrow?")
    ToolRequest(server='Do I need an umbrella in Oslo tomorrow? (weather)', tool='check whether I need an umbrella in place date')
    """
    cleaned = rewrite(question)
    return ToolRequest(_with_kind(cleaned[:DESCRIPTION_CHARACTERS]), described(cleaned))


def _with_kind(text: str) -> str:
    return text + "".join(f" ({kind.server})" for kind in domains(text, 1))
