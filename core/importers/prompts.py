"""Values that a user has to supply: the `inputs` of an editor's configuration."""

from __future__ import annotations

from core.domain.imports import Prompt
from core.importers.entry import Entry


def read_prompts(top: Entry) -> None:
    """Record every declared input; one with `password` is a secret.

    >>> from core.importers.reading import Reading
    >>> reading = Reading("mcp.json")
    >>> read_prompts(Entry(reading, "", {"inputs": [{"id": "key", "description": "API key", "password": True}]}))
    >>> reading.prompts["key"]
    Prompt(id='key', description='API key', secret=True)
    """
    for position, entry in enumerate(top.entries("inputs")):
        known = len(top.reading.problems)
        name = entry.name("id")
        secret = entry.flag("password") is True
        if name and any(c in name for c in "{}"):
            entry.problem("id holds a brace; rename it")
        if len(top.reading.problems) == known:
            if name in top.reading.prompts:
                entry.problem(f"id is the same as that of an earlier input than inputs[{position}]; rename one of them")
            top.reading.prompt(Prompt(name, entry.text("description"), secret))
