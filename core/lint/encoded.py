"""A rule about text that has to be decoded before a person can read it."""

from __future__ import annotations

import re

from core.domain.lint import Severity
from core.lint.base import PassageRule
from core.lint.passages import Passage

BLOB_CHARACTERS = 120  # of one encoded run: longer than keys, hashes and links that serve as examples
_BLOB = re.compile(
    r"(?<![\w/.:%+-])(?=[A-Za-z0-9+/_-]*[0-9])(?=[A-Za-z0-9+/_-]*[A-Z])(?=[A-Za-z0-9+/_-]*[a-z])[A-Za-z0-9+/_-]{120,}={0,2}"
)


class EncodedText(PassageRule):
    """Sentences in base64, hexadecimal or escapes, and runs that nobody can read."""

    id = "encoded_text"
    title = "Encoded text"
    severity = Severity.WARNING
    why = "A model decodes what a reviewer passes over; a description has no reason to be unreadable."
    advice = "Read what it says; a description should be plain text, and an example short."

    def look(self, passage: Passage) -> tuple[str, str] | None:
        if passage.encoding:
            return f"The {passage.where} holds a sentence in {passage.encoding}.", passage.text
        if match := _BLOB.search(passage.text):
            return f"The {passage.where} holds {len(match[0])} characters in a row that nobody can read.", match[0][:60]
        return None
