"""Every router finds tools by the probability of fit, or in the form of its paper. The two differ here."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Server
from core.routers import ROUTERS
from core.routers.base import AnyRouter
from core.routers.baselines import RagMcp
from core.routers.sonar import Sonar
from tests.cases import each
from tests.routers import worlds

FITS = {"mail::send": 0.9, "files::read": 0.06, "mail::find": 0.04}
ALIKE = {"files::read": 0.9, "mail::send": 0.5, "mail::find": 0.1}
OF_PAPERS = ["cosine", "BM25", "in common", "functional summar", "enriched document", "request's server"]
CHOOSE = sorted(name for name, router in ROUTERS.items() if "similarity" in {k.name for k in router.parameters.knobs()})


class TwoSided(worlds.FixedMatcher):
    """Cosines, words and views prefer reading a file, and the probability of fit sending a mail."""

    def fit(self, text, hint):
        tools = np.array([FITS[tool] for tool in self.ids])
        servers = np.maximum.reduceat(tools, [0, 2])
        return worlds.fixed_fit(type(self.answer)(servers, tools)), 0.0


@pytest.fixture(scope="module")
def context():
    catalog = worlds.catalog(
        Server("mail", tools=(worlds.tool("send"), worlds.tool("find"))), Server("files", tools=(worlds.tool("read"),))
    )
    world = worlds.context(catalog, {"files": 0.9, "mail": 0.5}, ALIKE)
    matcher = TwoSided(catalog, {"files": 0.9, "mail": 0.5}, ALIKE)
    matcher.ids = catalog.tool_ids
    object.__setattr__(world, "matcher", matcher)
    return world


@each("name", CHOOSE)
def test_fit_decides_by_default_and_the_papers_form_if_it_is_chosen(name: str, context) -> None:
    router: AnyRouter = ROUTERS[name]()
    knobs = {knob.name for knob in router.parameters.knobs()}
    settings = {key: value for key, value in {"reranker": "none", "lines": 1}.items() if key in knobs}
    for similarity, winner in (("fit", "mail::send"), ("views", "files::read")):
        chosen = router.parameters().replaced({"similarity": similarity, **settings})
        decision = router.route("do it", context, chosen)
        assert decision.winner.tool == winner, similarity
        notes = " ".join(stage.note for stage in decision.stages)
        others = OF_PAPERS if similarity == "fit" else ["probability of fit"]
        assert not [words for words in others if words in notes], notes


def test_rag_mcps_relevance_is_not_called_a_similarity(context) -> None:
    decision = RagMcp().route("do it", context)
    assert "has the highest score" in decision.reason
    assert [stage.note for stage in decision.stages] == ["Highest similarity.", "Highest relevance."]


def test_sonars_expertise_is_the_share_of_fit_among_the_kept_tools(context) -> None:
    decision = Sonar().route("do it", context, Sonar.parameters(a=1.0, s=2, t=3, n=3))
    assert dict(zip(decision.tools.ids, decision.tools.utility, strict=True)) == pytest.approx(FITS)
