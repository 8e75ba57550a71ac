"""Queries, a catalog and what a decision says, for the tests of PA-RAG."""

from __future__ import annotations

from core.planning.base import SubQuery

WHOLE = "find the news and mail them to Bo"
PARTS = (SubQuery("find the news"), SubQuery("mail them to Bo", needs=(0,)))
TOOLS = {"web": ("search", "crawl"), "mail": ("send", "draft"), "bank": ("pay", "search")}


def stage(decision, name):
    return next(stage for stage in decision.stages if stage.name == name)


def steps(decision):
    return [[decision.tools.ids[row] for row in step.candidates] for step in decision.steps]
