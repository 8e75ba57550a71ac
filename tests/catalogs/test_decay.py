"""Figures that fade with time, read through the catalog service: a clock that is passed in, rounded times, and what the page says."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog
from core.domain.events import OutcomeEvent, Override
from core.importers import read_document
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.routers.ehrr import EhrrParameters
from core.store import Store
from dashboard.ui.catalog_frames import server_frame, tool_frame
from tests.relevance.toy_encoders import WordEncoder
from tests.world import NOON, document

FADING = EhrrParameters(half_life_s=600.0, fading="everything")
PLAIN = EhrrParameters(half_life_s=0.0)


class Clock:
    """A clock for tests."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def catalogs(clock: Clock) -> Iterator[CatalogService]:
    """The catalog service with the catalog `world`."""
    store = Store(None)
    catalogs = CatalogService(store, CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors), now=clock)
    catalogs.save(Catalog("world", read_document(document(), source="test").servers), "test")
    yield catalogs
    store.close()


@pytest.fixture
def crash(catalogs: CatalogService, clock: Clock) -> Callable[[], None]:
    """The tool raw::echo breaks now."""

    def observe() -> None:
        catalogs.observe(
            OutcomeEvent(
                id="1", at=clock.now, decision_id=None, catalog="world", server="raw", tool="echo", kind="crash",
                latency_s=4.0, connect_s=0.9, attempts=1, price_usd=None, simulated=False, error="", origin="test",
            )
        )  # fmt: skip

    return observe


def test_time_gives_a_server_that_failed_its_figures_back_where_a_half_life_is_set(
    catalogs: CatalogService, clock: Clock, crash: Callable[[], None]
) -> None:
    crash()
    undecayed, fading = (catalogs.statistics("world", p).servers.success[0] for p in (PLAIN, FADING))
    assert undecayed == fading == pytest.approx(0.85 * 0.9)
    clock.now += timedelta(seconds=600)
    assert catalogs.statistics("world", PLAIN).servers.success[0] == undecayed
    assert (
        catalogs.statistics("world").servers.success[0] > undecayed
    )  # what failures have taught fades at the defaults
    assert catalogs.statistics("world", FADING).servers.success[0] == pytest.approx((undecayed + 0.9) / 2)


def test_a_server_that_answered_a_check_stays_forgiven_when_a_price_is_edited(
    catalogs: CatalogService, clock: Clock, crash: Callable[[], None]
) -> None:
    def figures() -> tuple[float, float]:
        servers = catalogs.statistics("world").servers
        return servers.success[0], servers.post_accept_failure[0]

    def after_an_edit() -> tuple[float, float]:
        catalogs.set_override(Override("world", "raw", "echo", "price_usd", 0.05, clock.now))
        return figures()

    at_first = figures()
    crash()
    assert figures() != at_first
    clock.now += timedelta(seconds=60)
    catalogs.answered("world", "raw")
    assert figures() == after_an_edit() == at_first
    for began_before_s in (0, 3):  # a call that breaks after the check, also if it began before
        clock.now += timedelta(seconds=60)
        catalogs.answered("world", "raw")
        clock.now -= timedelta(seconds=began_before_s)
        crash()
        failing = figures()
        assert failing == after_an_edit() != at_first


def test_within_a_moment_the_scene_is_the_same_and_after_it_a_new_one(
    catalogs: CatalogService, clock: Clock, crash: Callable[[], None]
) -> None:
    crash()
    first = catalogs.context("world", FADING)
    clock.now += timedelta(seconds=5)
    assert catalogs.context("world", FADING) is first
    clock.now += timedelta(seconds=5)
    second = catalogs.context("world", FADING)
    assert second is not first
    assert second.statistics.version == first.statistics.version
    without = catalogs.context("world", PLAIN)
    clock.now += timedelta(days=30)
    assert catalogs.context("world", PLAIN) is without


def test_the_source_of_a_figure_says_how_far_it_has_faded(
    catalogs: CatalogService, clock: Clock, crash: Callable[[], None]
) -> None:
    crash()
    catalog = catalogs.catalog("world")
    fresh = server_frame(catalog, catalogs.statistics("world", FADING))
    assert (fresh.loc[0, "success_source"], fresh.loc[0, "connect_source"]) == ("measured · 1 call",) * 2
    clock.now += timedelta(seconds=1200)
    statistics = catalogs.statistics("world", FADING)
    for column in ("success_source", "connect_source", "call_source", "failure_source"):
        assert server_frame(catalog, statistics).loc[0, column] == "measured · 1 call · 75 % decayed"
    tools = tool_frame(catalog, statistics)
    assert tools.loc[0, "latency_source"] == "measured · 1 call · 75 % decayed"
    assert tools.loc[1, "latency_source"] == "declared"
