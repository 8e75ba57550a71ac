"""Lint for catalogs: poor descriptions, colliding names, broken schemas, and text that tries to instruct a model.

A rule is a class (`base.py`); related rules share a file. `RULES` lists them, and `lint` runs them over a catalog. A new rule is a
class and its name in `RULES`; a new phrase that instructs a model is an entry of `wording/<rule>.toml` with an example and the words that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from core.domain.catalog import Catalog
from core.domain.findings import Finding, LintReport
from core.lint import attacks, collisions, descriptions, schemas
from core.lint.base import Context, Rule, ToolRule

__all__ = ["RULES", "Context", "Rule", "lint"]

RULES: dict[str, type[Rule]] = {
    rule.id: rule
    for rule in (
        # text that tries to instruct a model
        attacks.OverridesInstructions,
        attacks.HidesFromUser,
        attacks.ReadsSecrets,
        attacks.SendsElsewhere,
        attacks.ChangesOtherTools,
        attacks.FakeTags,
        attacks.HiddenCharacters,
        attacks.BuriedText,
        attacks.EncodedText,
        attacks.AsksForContext,
        attacks.SkipsConsent,
        attacks.ClaimsPrecedence,
        attacks.SteersModel,
        attacks.StrayCharacters,
        # names
        collisions.LookalikeName,
        collisions.NameTwice,
        collisions.SimilarServers,
        descriptions.EmptyName,
        collisions.SharedName,
        # descriptions
        descriptions.MissingDescription,
        descriptions.VagueDescription,
        descriptions.RepeatsName,
        descriptions.LongDescription,
        descriptions.MissingServerDescription,
        # schemas and their size
        schemas.BrokenSchema,
        schemas.OddListing,
        schemas.UnknownRequired,
        schemas.MissingSchema,
        schemas.UntypedParameters,
        schemas.UndescribedParameters,
        schemas.LargeTool,
        schemas.LargeServer,
        schemas.LargeCatalog,
        # hints, prices and times
        descriptions.ContradictoryHints,
        descriptions.UnmarkedDestruction,
        descriptions.DoubtfulHints,
        descriptions.MissingHints,
        schemas.Unpriced,
        schemas.MissingFigures,
        # rules that need vectors
        collisions.SimilarSiblings,
        collisions.NearDuplicates,
        # rules over example requests
        collisions.SeldomFound,
        collisions.TakenForEachOther,
        collisions.GreedyRequests,
    )
}


STEPS = 100  # of progress for each unit of a rule's weight


def lint(
    catalog: Catalog,
    context: Context | None = None,
    rules: Iterable[type[Rule]] = RULES.values(),
    progress: Callable[[int, int], object] = lambda _, __: None,
) -> LintReport:
    """Returns the findings of these rules in a catalog. Rules that need vectors are skipped if the context has none. `progress` gets the
    steps that are done, and their number. Its errors end the work.

    >>> from core.domain.catalog import Server, Tool
    >>> report = lint(Catalog("c", (Server("files", "Files.", tools=(Tool("files", "run"),)),)))
    >>> [finding.rule for finding in report.findings if finding.severity == "warning"]
    ['empty_name', 'missing_description', 'missing_schema']
    """
    run_context = context or Context(catalog)
    rule_types = tuple(rules)
    skipped = [rule.id for rule in rule_types if rule.needs_vectors and run_context.index is None]
    active_rules = [rule for rule in rule_types if rule.id not in skipped]
    done, total = 0, STEPS * sum(rule.weight for rule in active_rules)
    findings = _of_tools(catalog, [rule() for rule in active_rules if issubclass(rule, ToolRule)])
    for rule in active_rules:
        steps = STEPS * rule.weight
        run_context.working = partial(_told, progress, done, steps, total)
        if rule.id not in findings:
            findings[rule.id] = list(rule().check(catalog, run_context))
        done += steps
        progress(done, total)
    return LintReport.of(catalog.name, (finding for rule in active_rules for finding in findings[rule.id]), skipped)


def _of_tools(catalog: Catalog, rules: Sequence[ToolRule]) -> dict[str, list[Finding]]:
    """The findings by rule. Each tool is read for all rules at once, so that its schemas are read once, and then forgotten."""
    findings: dict[str, list[Finding]] = {rule.id: [] for rule in rules}
    for tool in catalog.tools if rules else ():
        for rule in rules:
            findings[rule.id] += rule.about(tool)
    return findings


def _told(progress: Callable[[int, int], object], base: int, steps: int, total: int, done: int, of: int) -> None:
    progress(base + steps * done // max(of, 1), total)
