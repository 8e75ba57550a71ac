"""Rules about attacks: text that instructs a model (the phrases of each rule are in `wording/<id>.toml`), and hidden text."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

from core.domain.catalog import Catalog
from core.domain.findings import Finding, Severity
from core.domain.progress import made_once
from core.domain.untrusted_text import INVISIBLE, TAG_OFFSET
from core.lint.base import Context, PassageRule, Rule, Words
from core.lint.texts import Passage, quoted, sentence_before

# Phrases that instruct a model (`wording/<rule>.toml`), and the rule that searches every text for them
# A phrase is a pattern over folded text (lower case). In the file a space stands for any gap between two words, a line break for
# nothing, and <NAME> for a part that is defined once. A negated or mentioned phrase is skipped: a scanner may say that it finds
# "ignore previous instructions".

WORDING = Path(__file__).parent / "wording"
REACH = 160  # characters around a match in which `near` is looked for: about two sentences
# The signs of a file. Every repetition is bounded and a word has no gap, so that every search is fast.
GAP = r"[\s*_`~]{1,40}"  # between two words: space, and invisible Markdown
SIGNS = {"\n": "", " ": GAP, r"\w+": r"[^\W_]{1,40}", r"\S+": r"\S{1,80}"}
_PART = re.compile("<([A-Z_]+)>")
_MENTIONING = re.compile(
    r"\b(?:detect|block|flag|filter|scan|prevent|guard|protect|reject|refus|recogni|classif|saniti|strip|catch|identif|"
    r"attack|injection|jailbreak|malicious|test(?:s|ing) (?:for|against)|looks for|searches for|finds)"
)
_EXAMPLE = re.compile(
    r"(?:[\"'“”(:]|\b(?:such as|like|e\.g\.?,?|for example,?|including|phrases?|containing|says?|for))\W*$"
)
_NEGATED = re.compile(
    r"\b(?:never|not|n't|don't|dont|cannot|can't|without|avoid|rather than|instead of|neither|nor)\W+(?:\w+\W+){0,2}$"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A pattern with an example that it finds.

    Every matching text contains one word of each of `needed`, alone or in a longer word; other texts are not searched. In the file a
    space parts the sets, and `|` the words of a set. All of `near` are within two sentences.
    `unless` excludes a match if it occurs in the match or before it in its sentence. With `negated` a "never" before
    the match is part of it.
    """

    example: str
    needed: tuple[Words, ...]
    pattern: str
    near: tuple[str, ...] = ()
    unless: str = ""
    negated: bool = False

    def find(self, text: str) -> re.Match[str] | None:
        """Returns the first match in a folded text that is neither negated nor mentioned."""
        return next(self.matches(text), None)

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        return (match for match in _compiled(self.pattern).finditer(text) if self._meant(text, match))

    def _meant(self, text: str, match: re.Match[str]) -> bool:
        around = text[max(0, match.start() - REACH) : match.end() + REACH]
        if not all(_compiled(pattern).search(around) for pattern in self.near):
            return False
        prefix = sentence_before(text, match.start())
        if not self.negated and _NEGATED.search(prefix):
            return False
        if self.unless and _compiled(self.unless).search(prefix + match[0]):
            return False
        return not (_MENTIONING.search(prefix) and _EXAMPLE.search(prefix))


@made_once
def phrases(rule: str) -> tuple[Phrase, ...]:
    """Returns the phrases of a rule, from its file."""
    document = tomllib.loads((WORDING / f"{rule}.toml").read_text(encoding="utf-8"))
    parts: dict[str, str] = document.get("parts", {})
    result: list[Phrase] = []
    for entry in document["phrase"]:
        pattern, unless, *near = (
            _written_out(source, parts)
            for source in (entry["pattern"], entry.get("unless", ""), *entry.get("near", ()))
        )
        words = tuple(frozenset(group.split("|")) for group in entry["needed"].split())
        result.append(Phrase(entry["example"], words, pattern, tuple(near), unless, entry.get("negated", False)))
    return tuple(result)


class PhraseRule(Rule):
    says: ClassVar[str]  # "The {place} …": the reason
    reads_parameters: ClassVar[bool] = True

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - passages say all
        evidence: dict[str, str] = {}
        for phrase in phrases(self.id):
            for text, folded in context.corpus.containing(phrase.needed):
                if text not in evidence and (match := phrase.find(folded.text)):
                    evidence[text] = quoted(text, *folded.span(*match.span()))
        places: dict[tuple[str, str], list[Passage]] = {}
        for passage in context.texts.passages(evidence):
            if self.reads_parameters or "parameter " not in passage.where:
                places.setdefault((passage.server, passage.tool), []).append(passage)
        for (server, tool), passages in places.items():
            first = passages[0]
            places_named = f", in {len(passages)} places" if len(passages) > 1 else ""
            reason = f"The {first.place} {self.says}{places_named}."
            yield self.finding(reason, server, tool, where=first.where, evidence=evidence[first.text])


def _written_out(pattern: str, parts: Mapping[str, str]) -> str:
    while match := _PART.search(pattern):
        pattern = pattern.replace(match[0], parts[match[1]])
    for sign, meaning in SIGNS.items():
        pattern = pattern.replace(sign, meaning)
    return pattern


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern when a text may match it. A small catalog needs few of them."""
    return re.compile(pattern, re.DOTALL)


# The rules.

_TOOL_NAME = re.compile(r"[A-Za-z0-9]+(?:[_-]\w+)+")


class OverridesInstructions(PhraseRule):
    title = "Overrides instructions"
    severity = Severity.ERROR
    weight = 10  # the first rule prepares the texts that others search
    why = "A description is data. One that revokes the user's or the operator's instructions is an attack."
    says = "tells the model to drop its instructions or to accept new ones"
    advice = "Do not give this tool to a model; take it out of the catalog and ask its author."


class HidesFromUser(PhraseRule):
    title = "Hides something from the user"
    severity = Severity.ERROR
    why = "A user can only object to visible actions. An honest tool needs no secrecy."
    says = "tells the model to keep something from the user"
    advice = "Do not give this tool to a model until you know what it hides, and ask its author."


class ReadsSecrets(PhraseRule):
    title = "Asks for secrets"
    severity = Severity.ERROR
    why = "A model with a file or shell tool can read keys, and may pass them on as an argument if a description asks for that."
    says = "asks the model to read secrets and to pass them on"
    advice = "Do not give this tool to a model; take it out of the catalog and treat its server as hostile."


class SendsElsewhere(PhraseRule):
    title = "Sends data elsewhere"
    severity = Severity.ERROR
    why = "Tool poisoning steals data by giving an address in a description and asking the model to copy data to it."
    says = "tells the model to send data elsewhere, or to redirect what another tool sends"
    advice = "Do not give this tool to a model; take it out of the catalog and treat its server as hostile."


class ChangesOtherTools(PhraseRule):
    title = "Changes other tools"
    severity = Severity.ERROR
    why = "A model reads all descriptions together, so one tool can change the use of another, trusted one."
    says = "tells the model to change its calls of other tools"
    advice = "Do not give this tool to a model together with others; take it out of the catalog."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        """Leaves out orders about a server's own tools."""
        own_tools = {server.name: {tool.name for tool in server.tools} for server in catalog.servers}
        for finding in super().check(catalog, context):
            names = _TOOL_NAME.findall(finding.evidence)
            if not names or not own_tools[finding.server].issuperset(names):
                yield finding


class FakeTags(PhraseRule):
    title = "Imitates a system message"
    severity = Severity.ERROR
    why = "Models give weight to tags such as <IMPORTANT> or <system>, and interfaces often hide them from people."
    says = "has markup that imitates a system message or is invisible"
    advice = "Do not give this tool to a model until the tag is gone; read the text inside it."


class AsksForContext(PhraseRule):
    title = "Asks for the conversation"
    severity = Severity.WARNING
    why = "An argument leaves the conversation. A tool should ask only for the data that it needs."
    says = "asks for the conversation, the user's words, or the model's identity or prompt"
    advice = "Check that the tool needs it; if it is for analytics, leave the parameter out of calls."


class SkipsConsent(PhraseRule):
    title = "Skips the user's consent"
    severity = Severity.WARNING
    why = "The operator decides when the user is asked, not a tool."
    says = "tells the model not to ask the user"
    advice = "Set the confirmation rules in your client, out of reach of descriptions."
    reads_parameters = False  # a switch such as `force` says that there will be no question, and may


class ClaimsPrecedence(PhraseRule):
    title = "Claims precedence"
    severity = Severity.WARNING
    why = "A tool should be chosen by its function. One that asks to be first or only takes calls away from others."
    says = "claims to come before or instead of other tools"
    advice = "Ask for a description of the tool's function; until then give models only routed tools."


class SteersModel(PhraseRule):
    title = "Steers the model"
    severity = Severity.NOTE
    why = "Orders in a description influence a model's choice, whether they mean to help or to win."
    says = "tells the model which tool to call, and when"
    advice = "It is harmless if it names only the server's own tools; check that."
    reads_parameters = False  # "use this instead" is about another parameter there


# Hidden text: invisible characters, changed reading direction, text pushed out of sight, encoded text

SCREEN_SPACES = 100  # spaces in a row: wider than the line of a dialog, so the rest is out of sight
SCREEN_LINES = 12  # empty lines in a row: more than the dialogs of usual clients show
RUN = 3  # invisible characters in a row: no script and no emoji needs as many
MANY = 5  # in one text: more than an accident of the keyboard or the clipboard

_TAGS = re.compile("[\U000e0020-\U000e007f]+")
_FLAG = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")
_TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_OVERRIDES = re.compile("[\u202d\u202e]")
_RUN = re.compile(f"(?:{INVISIBLE.pattern}){{{RUN},}}")
_IN_WORD = re.compile(
    "[A-Za-z][\u034f\u115f\u1160\u180e\u200b-\u200d\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0][A-Za-z]"
)
_EMOJI_JOINERS = re.compile(
    "(?<=[^\x00-\u1fff\u3000-\u9fff\uac00-\ud7af\ufe00-\ufe0f])[\ufe0e\ufe0f]?\u200d|(?<![\ufe00-\ufe0f])[\ufe0e\ufe0f](?![\ufe00-\ufe0f])"
)
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_BLANK = "[ \t\u00a0\u2000-\u200a\u3000]"
_SPACE = re.compile(
    rf"(?<!{_BLANK}){_BLANK}{{{SCREEN_SPACES},}}+(?=\S)|(?<!\s)(?:[^\S\n]*+\n){{{SCREEN_LINES},}}+(?=\s*+\S)"
)


class HiddenCharacters(PassageRule):
    title = "Hidden characters"
    severity = Severity.ERROR
    why = "A model reads characters that people cannot see. They can carry whole instructions, and broken words pass filters."
    advice = "Do not give this tool to a model until they are gone; ask its author why they were there."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.text.isascii() or not (match := hidden(passage.text)):
            return None
        fact, start, end = match
        return f"The {passage.place} {fact}.", quoted(passage.text, start, end)


class StrayCharacters(PassageRule):
    title = "Stray invisible characters"
    severity = Severity.NOTE
    why = "A copied text may carry invisible characters; they cost tokens and break exact matches."
    advice = "Remove them from the source of the text."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.text.isascii() or hidden(passage.text) or not (characters := _unneeded(passage.text)):
            return None
        names = ", ".join(f"U+{ord(c):04X}" for c in sorted(set(characters)))
        plural = "s" if len(characters) > 1 else ""
        return f"The {passage.place} has {len(characters)} invisible character{plural} ({names}).", ""


class BuriedText(PassageRule):
    title = "Text out of sight"
    severity = Severity.ERROR
    why = "Space pushes text out of the dialog in which people approve a tool, but a model reads it."
    advice = "Read the text after the space before you give this tool to a model."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        text = passage.text
        match = _SPACE.search(text) if len(text) > SCREEN_SPACES or text.count("\n") >= SCREEN_LINES else None
        if match is None:
            return None
        lines = match[0].count("\n")
        space = f"{lines} empty lines" if lines else f"{len(match[0])} spaces"
        return f"The {passage.place} goes on after {space}.", text[match.end() :].lstrip()[:80]


def hidden(text: str) -> tuple[str, int, int] | None:
    """Returns the hidden part of a text with its start and end, or None."""
    bare = _blanked(_EMOJI_JOINERS, _blanked(_FLAG, text))
    if match := _TAGS.search(bare):
        hidden_text = "".join(chr(ord(c) - TAG_OFFSET) for c in match[0])
        return f"has invisible tag characters that say “{hidden_text[:80]}”", *match.span()
    if match := (_OVERRIDES if _right_to_left(text) else _TURNS).search(text):
        return f"turns the direction of reading with U+{ord(match[0]):04X}", *match.span()
    if match := _RUN.search(bare):
        return f"has {len(match[0])} invisible characters in a row (U+{ord(match[0][0]):04X}…)", *match.span()
    if match := _IN_WORD.search(bare):
        return f"has words broken by invisible characters (U+{ord(match[0][1]):04X})", *match.span()
    if len(characters := _unneeded(text)) >= MANY:
        start = text.index(characters[0])
        return f"has {len(characters)} invisible characters", start, start + 1
    return None


def _unneeded(text: str) -> list[str]:
    """Returns the invisible characters that neither an emoji nor a script needs."""
    if not INVISIBLE.search(text):
        return []
    bare = _EMOJI_JOINERS.sub("", _FLAG.sub("", text))
    scripted = _right_to_left(bare) or any("\u0900" <= c <= "\u0dff" for c in bare)
    joiners = "\u200c\u200d\u200e\u200f\u061c\u202a\u202b\u202c\u2066\u2067\u2068\u2069" if scripted else ""
    return [c for c in INVISIBLE.findall(bare) if c not in joiners and c != "\u00ad"]


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: " " * len(match[0]), text)


def _right_to_left(text: str) -> bool:
    return _RIGHT_TO_LEFT.search(text) is not None


# Encoded text

# of at least 120 characters: longer than keys, hashes and links in examples
_BLOB = re.compile(
    r"(?<![\w/.:%+-])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{120,}={0,2}"
)


class EncodedText(PassageRule):
    title = "Encoded text"
    severity = Severity.WARNING
    why = "A model decodes text that a reviewer skips. A description has no reason to be unreadable."
    advice = "Decode and read it; a description should be plain text, and an example short."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.encoding:
            return f"The {passage.where} holds a sentence in {passage.encoding}.", passage.text
        if match := _BLOB.search(passage.text):
            return f"The {passage.where} holds {len(match[0])} unreadable characters in a row.", match[0][:60]
        return None
