"""A tour of the five papers: the Papers page, its linked experiments, and the views that docs/papers.md names. A page that shows an
error is named, and ends `make bench` with a failure."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

from core.app import App, Settings, open_app
from core.papers import PAPERS
from dashboard import session
from dashboard.navigation import FIRST
from dashboard.pages.papers.view import VIEWS, address
from tests.benchmarks.measuring import report
from tests.dashboard.harness import open_page

NAMED = ("/whatif?view=Auction&q=find a recipe for soup&catalog=sample&router=ehrr", "/lab?catalog=sample&router=sonar")


def tour() -> None:
    """Opens everything once. Exits with the experiments that show an error."""
    started = time.perf_counter()
    with open_app(replace(Settings.from_environment(db=":memory:"), encoder_difference="")) as app:
        session.use_app(app)
        try:
            stops = dict(_stops(app))
            failed = {place: why for place, name in stops.items() if (why := fault(place))}
        finally:
            session.use_app(None)
    report("tour of the papers", {"pages": len(stops), "errors": len(failed)}, "")
    report("  in all", {"took": time.perf_counter() - started}, "s")
    if failed:
        sys.exit("\n".join(f"{stops[place]}: {place}\n  {why}" for place, why in failed.items()))


def _stops(app: App) -> Iterator[tuple[str, str]]:
    """Yields each address with the name of an experiment."""
    for paper in PAPERS:
        yield from ((f"/papers?paper={paper}&view={view}", paper) for view in VIEWS)
        report = app.papers.report(paper)
        if report is None:
            sys.exit(f"{paper}: there is no report; run make papers.")
        for exhibit in (*report.tables, *report.charts):
            links = {exhibit.title: exhibit.link} | {
                f"{exhibit.title}, {row.name}": row.link for row in getattr(exhibit, "rows", ())
            }
            for name, link in links.items():
                if link is not None:
                    yield address(app, link), f"{paper}: {name}"
    yield from ((place, "docs/papers.md") for place in NAMED)


def fault(place: str) -> str:
    """The error that a page shows, "" for none."""
    if not place:
        return "its link leads nowhere, because a router or a knob is gone"
    target = urlsplit(place)
    try:
        page = open_page(target.path.strip("./") or FIRST, **dict(parse_qsl(target.query)))
    except (AssertionError, RuntimeError) as error:  # an exception on the page, or none in time
        return f"it ends with an exception, see above ({type(error).__name__})"
    return " ".join(message.value for message in page.error)
