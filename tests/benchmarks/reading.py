"""Does a tool that writes lose rightly where a question asks to know: labelled sets and forty questions, by `WRITING_SHARE`.

The forty were written for this, from the names of the sample's tools, before any share was tried on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

import sample_catalog
from core.app import App
from core.domain.tasks import Task
from core.importers.shipped_catalogs import SAMPLE
from core.planning.rules import RulesPlanner
from core.routers.context import Query
from core.routers.ehrr import EhrrEngine, EhrrParameters
from core.routers.side_effects import asks_to_know, writing_tools
from core.routers.utility import ranking
from tests.benchmarks import labelled
from tests.benchmarks.attending import LIVE

SHARES = (1.0, 0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
TESTBEDS = sample_catalog.TASKS_DIR.parent / "testbeds"
TO_KNOW = """
what does my week look like on the calendar : Almanack::show-agenda calendar-desk::list_events
which meetings did I schedule for Thursday : Almanack::show-agenda calendar-desk::list_events
who last changed this line of code : Anvil::history.blame
what have I ordered on the marketplace so far : Bazaar::listOrders
did my order get cancelled : Bazaar::orderStatus Bazaar::listOrders
what is in my cart right now : Bazaar::viewCart
which price alerts have I set : Bullring::alerts.list
when did we last deploy to production : Conveyor::deploymentHistory
why did the pipeline run stop : Conveyor::runLogs Conveyor::runStatus
who edited the onboarding page in the wiki : Folio::folio.page.history
did somebody book a room for Saturday at the hotel under the name Weber : Innkeeper::booking_lookup
what did I reserve at the inn : Innkeeper::booking_lookup
what did I write down about the roof : Marginalia::search_notes Marginalia::read_note Marginalia::list_notes
has anybody answered my letter : Pigeonhole::chase_unanswered Pigeonhole::find_letters mail-room::mail.search
which letters have I sent that nobody replied to : Pigeonhole::chase_unanswered
is any incident open at the moment : Pulsewatch::openIncidents
which trips have I booked : Skyhop::trips.list
what workouts did I log this month : Stride::workout_history
which cards are assigned to Ines : Swimlane::findCards
what did people comment on the card : Swimlane::cardDetails
how many objects have been put into the bucket : bucket-store::bucket_usage bucket-store::list_objects
who accepted the invitation to the review : calendar-desk::list_events Almanack::show-agenda
what containers are running : container-dock::list_containers
which deals did we move to won this quarter : crm-desk::crm_list_deals crm-desk::crm_pipeline_report
what changed in the document since it was shared : docs-writer::version_history
how much did we spend on travel that I added : expense-book::list_expenses expense-book::spending_breakdown
what did I pay for subscriptions : expense-book::subscriptions
who merged the last pull request : git-forge::list_pull_requests
which invoices have we sent that are not paid : invoice-press::receivables_ageing invoice-press::list_invoices
did Nordwind pay their invoice : invoice-press::get_invoice invoice-press::list_invoices invoice-press::receivables_ageing
is somebody already assigned to ticket 482 : issue-tracker::get_issue
has this bug been reported before : issue-tracker::find_duplicates issue-tracker::search_issues
what did the boss email me this morning : mail-room::mail.search mail-room::mail.get
did Paul forward the contract to me : mail-room::mail.search
which meals have I logged today : nutrition-facts::diary_summary
was the parcel delivered and who signed : parcel-trace::proof_of_delivery
which indexes were created on the table orders : postgres-desk::describe_table
what did Jana post in the channel yesterday : team-chat::channel_history team-chat::search_messages Parley::readRoom Parley::findEntries
who was invited to the channel design : team-chat::list_members
what files were deleted or moved in my folder : sandbox-files::list_directory
"""


def reading() -> None:
    """For each set: the questions that ask to know, those whose right tools all write, and won, lost and writing winners by share."""
    print(f"won-lost/writing winners where the question asks to know, by share: {', '.join(map(str, SHARES))}")
    with labelled.opened_app() as app:
        for name, catalog, asked in _sets(app):
            _print(app, name, catalog, asked)


Asked = tuple[str, str, frozenset[str]]  # text, hint, right tools


def _sets(app: App) -> Iterator[tuple[str, str, list[Asked]]]:
    everyday = labelled.tasks(app, "everyday")
    yield "everyday, one half", SAMPLE, _asked(everyday[1::2])
    yield "everyday, other half", SAMPLE, _asked(everyday[::2])
    yield "sub-tasks", SAMPLE, _asked(labelled.tasks(app, "subtasks"))
    for name in ("attention-120", "search-15"):
        tasks = app.lab.read_tasks(TESTBEDS / f"{name}.tasks.jsonl")
        yield name, name, _asked(tasks)
        yield f"{name}, as asked", name, [(one.question, "", frozenset(one.relevant)) for one in tasks if one.relevant]
    if LIVE.exists():
        yield (
            "LiveMCPBench, judged",
            app.catalogs.open(str(LIVE / "tools.json")).name,
            _asked(app.lab.read_tasks(LIVE / "judged.jsonl")),
        )
    parted = (line.partition(" : ") for line in TO_KNOW.strip().splitlines())
    yield "forty questions to know", SAMPLE, [(text, "", frozenset(right.split())) for text, _, right in parted]


def _asked(tasks: Sequence[Task]) -> list[Asked]:
    return [(one.subtask, one.server_hint, frozenset(one.relevant)) for one in tasks if one.relevant]


def _print(app: App, name: str, catalog: str, asked: Sequence[Asked]) -> None:
    p = EhrrParameters()
    context = app.catalogs.context(catalog, p)
    engine, writing = EhrrEngine.of(context, p), writing_tools(context.catalog, np.arange(len(context.tool_ids)))
    hit, wrote = np.zeros((len(asked), len(SHARES)), dtype=bool), np.zeros((len(asked), len(SHARES)), dtype=bool)
    only_writing = 0
    for number, (text, hint, right) in enumerate(asked):
        match, knows = Query(text, hint.strip(), context.matcher, RulesPlanner()).match(p), asks_to_know(text)
        only_writing += knows and all(writing[row] for row, tool in enumerate(context.tool_ids) if tool in right)
        layer = engine.server_layer(match.servers)
        for place, share in enumerate(SHARES):
            race = engine.tool_layer(np.where(writing & knows, share * match.tools, match.tools), layer)
            rows = np.flatnonzero(race.racing)
            if len(rows):
                best = rows[ranking(race.utility[rows], race.similarity[rows], context.tool_order[rows])][0]
                hit[number, place], wrote[number, place] = context.tool_ids[best] in right, knows and writing[best]
    cells = [
        f"{int((one & ~hit[:, 0]).sum())}-{int((hit[:, 0] & ~one).sum())}/{int(w.sum())}"
        for one, w in zip(hit.T, wrote.T, strict=True)
    ]
    print(
        f"{name:<26}{len(asked):>4} asked,{sum(asks_to_know(text) for text, *_ in asked):>4} to know, {only_writing} only by writing; first {hit[:, 0].mean():.3f}  {'  '.join(cells)}",
        flush=True,
    )
