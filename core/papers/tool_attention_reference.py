"""The catalog of Tool Attention's public reference code, made again, and the four token counts of its README.

The words are the author's (Sadani 2026, MIT); the program is ours. Draws are in its order, so seed 42 gives its 120 tools.
"""

from __future__ import annotations

import json
import random
import string
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np

from core.domain.catalog import Catalog, definition_tokens, tool_id
from core.domain.tasks import Task
from core.domain.tools import count_tokens
from core.importers import read_document
from core.papers.material import Material
from core.papers.report import Column, Kind, Row, Table, pair
from core.papers.tool_attention_parts import THETA, K
from core.relevance.vectors import nearest_rows

NAME = "attention-reference"
SEED = 42
SERVERS = {  # number of tools, target tokens, verbs, things, place
    "github": (30, 520, "list get create close search comment", "pull_request issue repo branch commit workflow_run", "GitHub"),
    "filesystem": (10, 180, "read write list search delete", "file directory", "the local filesystem"),
    "database": (20, 410, "query describe insert update delete explain", "customers orders invoices sessions events schema", "the primary OLTP database"),
    "slack": (15, 290, "post read search list dm", "channel thread user message", "Slack"),
    "web": (10, 220, "search fetch extract screenshot", "page image snippet", "the public web"),
    "jira": (35, 470, "create list transition comment search link", "issue epic sprint project worklog component", "Jira"),
}  # fmt: skip
NOTE = (
    "Returns a structured JSON object representing the operation result. Supports pagination, filtering by common attributes, and optional "
    "expansion of related entities. Authentication is handled automatically via the host's credential manager. Rate limits apply per server."
)
TYPES = ["string", "integer", "boolean"]
CHARACTERS_OF_A_TOKEN = 4
REQUIRED, ASKED = 0.4, 0.08  # share of the parameters, and of the tools whose summary is a question
COUNTED = {"B1 full schema": 57_452, "B3 simple retrieval": 5_390, "Phase 1": 787, "Phase 2": 4_672}  # by its README


@dataclass(frozen=True)
class ReferenceCatalog:
    """Definitions of the tools of each server, the summary of each tool by its id, and the questions, each of them a summary."""

    definitions: dict[str, list[dict[str, Any]]]
    summaries: dict[str, str]
    questions: list[str]

    @classmethod
    def of(cls, seed: int = SEED) -> ReferenceCatalog:
        """
        >>> source = ReferenceCatalog.of()
        >>> len(source.summaries), source.questions[0], source.tasks()[0].relevant[0]
        (120, 'Search commit in GitHub.', 'github::github__search_commit_19')
        """
        rng, catalog = random.Random(seed), cls({}, {}, [])  # noqa: S311 - the same draws as there, not a secret
        for server, (count, tokens, verbs, things, place) in SERVERS.items():
            for number in range(count):
                verb, thing = rng.choice(verbs.split()), rng.choice(things.split())
                name = f"{server}__{verb}_{thing}_{number:02d}"
                summary = f"{verb.capitalize()} {thing.replace('_', ' ')} in {place}."
                definition = {"name": name, "description": f"{summary} {NOTE}", "inputSchema": _schema(tokens, rng)}
                catalog.definitions.setdefault(server, []).append(definition)
                catalog.summaries[tool_id(server, name)] = summary
                if rng.random() < ASKED:
                    catalog.questions.append(summary)
        return catalog

    def catalog(self) -> Catalog:
        servers = [{"name": name, "tools": tools} for name, tools in self.definitions.items()]
        return Catalog(NAME, read_document(json.dumps({"servers": servers}), source=NAME).servers)

    def tasks(self) -> tuple[Task, ...]:
        """Its questions. Every tool with the question as its summary is right. A third of the tools repeat a summary."""
        return tuple(
            Task(f"reference-{number}", question, relevant=tuple(t for t, summary in self.summaries.items() if summary == question))
            for number, question in enumerate(self.questions, 1)
        )  # fmt: skip


def _schema(tokens: int, rng: random.Random) -> dict[str, Any]:
    """Parameters with random names, until their definitions have the characters of `tokens`."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    while sum(len(json.dumps(schema)) for schema in properties.values()) < tokens * CHARACTERS_OF_A_TOKEN:
        name = "".join(rng.choices(string.ascii_lowercase, k=rng.randint(3, 10)))
        kind = rng.choice(TYPES)
        rng.randint(1, 3)  # the number of repeats of the note, which is cut before its end
        properties[name] = {"type": kind, "description": NOTE[: rng.randint(50, 220)]}
        if rng.random() < REQUIRED:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def reference(material: Material) -> Table:
    """The counts of the README, recounted, and Wayfare's own counts over the catalog."""
    material.say("Tool Attention: the public reference catalog")
    source = ReferenceCatalog.of()
    catalog, tasks = source.catalog(), source.tasks()
    material.add_catalog(catalog)
    definitions = [tool for tools in source.definitions.values() for tool in tools]
    spaced = np.array([count_tokens(json.dumps(tool)) for tool in definitions])
    compact = np.array([count_tokens(json.dumps(tool, sort_keys=True, separators=(",", ":"))) for tool in definitions])
    encoder, summaries = material.context(NAME).matcher.encoder, list(source.summaries.values())
    queries = np.array([encoder.encode_query(question) for question in source.questions])
    cosines, rows = nearest_rows(encoder.encode_documents(summaries), queries, 4 * K)
    active = [near[cosine >= THETA][:K] for cosine, near in zip(cosines, rows, strict=True)]
    counts = {
        "B1 full schema": float(spaced.sum()),
        "B3 simple retrieval": fmean(float(spaced[places].sum()) for places in active),
        "Phase 1": float(sum(map(count_tokens, summaries))),
        "Phase 2": fmean(float(compact[places].sum()) for places in active),
    }
    decisions = [material.decide(task.subtask, NAME, "tool_attention") for task in tasks]
    own_counts = {
        "Wayfare: all definitions": float(sum(definition_tokens(tool) for tool in catalog.tools)),
        "Wayfare: phase 1, with names and 60 tokens of description": float(decisions[0].exposure.cached),
        "Wayfare: phase 2": fmean(decision.exposure.exposed for decision in decisions),
    }
    exact = [Row(name, Kind.EXACT, {"t": pair(COUNTED[name], count)}) for name, count in counts.items()]
    return Table(
        "reference", "The public reference code · its catalog", "Tokens a turn over the 120 tools and seven questions that its generator makes with seed 42.",
        "the README of the reference code", "the same draws, counted as there; then Wayfare's own texts", (Column("t", "Tokens a turn", 0),),
        (*exact, *(Row(name, Kind.OURS, {"t": pair(None, count)}) for name, count in own_counts.items())),
        differs="B3 and phase 2 show the same ten tools: they differ by the spaces in JSON. Phase 1 has no names, so that a model could not ask for a tool. A third of the "
        "summaries repeat another, parameters have random letters as names, and each question is the summary of a tool. Definitions are longer than the paper's table of "
        "servers says, because the generator aims at its tokens with the parameters alone.",
    )  # fmt: skip
