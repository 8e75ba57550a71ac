"""Lint for catalogs: one rule a class, a few related ones a file. A new one is a class and its name in `RULES`."""

from __future__ import annotations

from collections.abc import Iterable

from core.domain.catalog import Catalog
from core.domain.lint import LintReport
from core.lint.base import Context, Rule
from core.lint.collisions import LookalikeName, NameTwice, SharedName, SimilarServers
from core.lint.descriptions import (
    LongDescription,
    MissingDescription,
    MissingServerDescription,
    RepeatsName,
    VagueDescription,
)
from core.lint.duplicates import NearDuplicates, SimilarSiblings
from core.lint.encoded import EncodedText
from core.lint.figures import MissingFigures, Unpriced
from core.lint.hidden import BuriedText, HiddenCharacters, StrayCharacters
from core.lint.hints import ContradictoryHints, DoubtfulHints, MissingHints, UnmarkedDestruction
from core.lint.instructing import (
    AsksForContext,
    ChangesOtherTools,
    ClaimsPrecedence,
    FakeTags,
    HidesFromUser,
    OverridesInstructions,
    ReadsSecrets,
    SendsElsewhere,
    SkipsConsent,
    SteersModel,
)
from core.lint.names import EmptyName
from core.lint.schemas import BrokenSchema, MissingSchema, UndescribedParameters, UnknownRequired, UntypedParameters
from core.lint.sizes import LargeCatalog, LargeServer, LargeTool

__all__ = ["RULES", "Context", "Rule", "lint"]

RULES: dict[str, type[Rule]] = {
    rule.id: rule
    for rule in (
        # text that tries to instruct a model
        OverridesInstructions,
        HidesFromUser,
        ReadsSecrets,
        SendsElsewhere,
        ChangesOtherTools,
        FakeTags,
        HiddenCharacters,
        BuriedText,
        EncodedText,
        AsksForContext,
        SkipsConsent,
        ClaimsPrecedence,
        SteersModel,
        StrayCharacters,
        # names
        LookalikeName,
        NameTwice,
        SimilarServers,
        EmptyName,
        SharedName,
        # descriptions
        MissingDescription,
        VagueDescription,
        RepeatsName,
        LongDescription,
        MissingServerDescription,
        # schemas and their size
        BrokenSchema,
        UnknownRequired,
        MissingSchema,
        UntypedParameters,
        UndescribedParameters,
        LargeTool,
        LargeServer,
        LargeCatalog,
        # hints and figures
        ContradictoryHints,
        UnmarkedDestruction,
        DoubtfulHints,
        MissingHints,
        Unpriced,
        MissingFigures,
        # what only vectors tell
        SimilarSiblings,
        NearDuplicates,
    )
}


def lint(catalog: Catalog, context: Context | None = None, rules: Iterable[type[Rule]] = RULES.values()) -> LintReport:
    """What these rules find in a catalog. Rules that need vectors wait where the context has none.

    >>> from core.domain.catalog import Server, Tool
    >>> report = lint(Catalog("c", (Server("files", "Files.", tools=(Tool("files", "run"),)),)))
    >>> [finding.rule for finding in report.findings if finding.severity == "warning"]
    ['empty_name', 'missing_description', 'missing_schema']
    """
    seen = context or Context(catalog)
    chosen = tuple(rules)
    waiting = [rule.id for rule in chosen if rule.needs_vectors and seen.index is None]
    found = [f for rule in chosen if rule.id not in waiting for f in rule().check(catalog, seen)]
    return LintReport.of(catalog.name, found, waiting)
