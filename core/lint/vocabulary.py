"""Lists of words that rules use, from `vocabulary.toml`."""

from __future__ import annotations

import tomllib
from pathlib import Path

_FILE = Path(__file__).with_suffix(".toml")
VOCABULARY = {
    name: frozenset(words.split()) for name, words in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
