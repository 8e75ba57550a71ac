"""How example requests are written, for agents and models alike."""

from __future__ import annotations

PER_TOOL = 12
HOW = f"""\
An example request is what somebody says who needs exactly this tool and no other one. Write {PER_TOOL} for each tool, from its definition alone:
- four as an agent words a step of its work: one precise sentence in the imperative;
- eight as people talk: some short, some long, in everyday words rather than the tool's, from different situations.
Invent concrete values (places, names, amounts, dates). Vary the words: none of them repeats another. Do not name the tool or its server,
do not copy its description, and do not speak to a model or of tools. Where another tool does nearly the same, let each request show what only
this one does. One line each, at most 200 characters, in English.
"""
