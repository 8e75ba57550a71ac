"""The Compare page: one sub-task under several routers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.feedback import AskedQuery
from core.domain.params import NetworkMoment
from core.domain.tasks import Task
from core.lab.execution import ROUNDS, ExecutionRun, Interval, Playing, Routed
from core.lab.stored_runs import ComparedTool, Placing, agreement, compared_tools, winners
from core.lab.sweep import unbeaten
from core.routers.why import why
from dashboard.pages.compare.charts import agreement_map
from dashboard.session import job_about, known_job, start_job
from dashboard.ui.calling import judge_popover
from dashboard.ui.chart import chart, flow, live
from dashboard.ui.charts.shared import frontier
from dashboard.ui.labels import asked_like_line
from dashboard.ui.long_work import job_progress, planner_usage, share_of, show_preparing
from dashboard.ui.presets import Variant, choose_variants
from dashboard.ui.question import Asks, QueryForm, Question, badge, chosen_network, example_queries
from dashboard.ui.table import table
from dashboard.ui.text import DROPPED, errors_shown, escaped, progress_words
from dashboard.ui.token_meter import read_meter, start_meter, token_meter
from dashboard.ui.url_state import ASKED, UrlState, open_page

LISTED = 5


def card(app: App, variant: Variant, decision: Decision, texts: dict[str, str]) -> None:
    key = f"compare:{variant.text}"
    with st.container(border=True, gap="xsmall", height="stretch"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"**{escaped(variant.name, 80)}**", width="content")
            if st.button("Open", icon=":material/alt_route:", key=f"{key}:open", type="tertiary", help="In Decision"):
                changes = {name: str(value) for name, value in variant.parameters.changed().items()}
                open_page(
                    "route", **texts, **({} if variant.router == "ehrr" else {"router": variant.router}), **changes
                )
        winner = decision.winner
        if winner is None:
            st.markdown(f":orange[No candidate.] :small[{escaped(decision.reason, 200)}]")
        else:
            st.markdown(f":violet[★] {escaped(winner.tool, 60)}{badge(decision.catalog, winner.tool)}")
            asked_like_line(app, decision, winner.tool)
        _numbers(decision)
        live(flow(decision), key=f"{key}:flow")
        for place, row in enumerate(decision.candidates[:LISTED], start=1):
            tool = decision.tool_at(row)
            st.markdown(
                f":small[{place} · {escaped(tool.tool, 48)} · {units.plain(tool.utility)}]{badge(decision.catalog, tool.tool)}"
            )
        if (more := len(decision.candidates) - LISTED) > 0:
            st.caption(f"and {more} more")


def _numbers(decision: Decision) -> None:
    winner, tokens = decision.winner, decision.tokens
    cached = f" + {tokens['cached']:,} cached" if tokens["cached"] else ""
    lines = [
        ("tokens exposed", f"{tokens['exposed']:,}{cached}"),
        ("decided in", units.seconds(decision.timings_ms["total"] / 1e3)),
        ("planner", decision.planner),
    ]
    if winner is not None:
        lines = [
            ("payment a call", units.price(winner.payment_usd)),
            ("expected time", units.seconds(winner.time_cost_s)),
            *lines,
        ]
    st.markdown("  \n".join(f":small[:gray[{name}] **{escaped(value)}**]" for name, value in lines))


def places_table(app: App, variants: tuple[Variant, ...], decisions: tuple[Decision, ...]) -> None:
    tools = compared_tools(decisions)
    frame = pd.DataFrame(
        [[tool.tool, *(_place(placing) for placing in tool.placings)] for tool in tools],
        columns=["tool", *(variant.name for variant in variants)],
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Ranks of the candidates**", width="content")
        if tools:
            decision = decisions[0]
            judge_popover(
                app, AskedQuery(decision.query, decision.server_hint), sorted(tool.tool for tool in tools), "compare",
                catalog=decision.catalog,
            )  # fmt: skip
    table(frame, key="compare:placings")


def difference(variants: tuple[Variant, ...], decisions: tuple[Decision, ...]) -> None:
    """Draw two routers side by side: the tools that they rank differently, with reasons."""
    names = [variant.name for variant in variants]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown("**Differences between**", width="content")
        first = st.selectbox("First", range(len(names)), key="compare.one", format_func=names.__getitem__, width=260)
        second = st.selectbox(
            "Second", range(len(names)), index=1, key="compare.other", format_func=names.__getitem__, width=260
        )
    pair = (decisions[first], decisions[second])
    differing = [tool for tool in compared_tools(pair) if tool.placings[0].rank != tool.placings[1].rank]
    if not differing:
        st.success("Both have the same candidates in the same order.", icon=":material/equal:")
        return
    for tool in differing:
        _differing(tool, pair, (names[first], names[second]))


def _differing(tool: ComparedTool, pair: tuple[Decision, Decision], names: tuple[str, str]) -> None:
    lines = [
        f":small[:gray[{escaped(name, 60)}:] {escaped(why(decision, tool.tool), 300)}]"
        for name, decision in zip(names, pair, strict=True)
    ]
    st.markdown("  \n".join([f"**{escaped(tool.tool, 80)}**", *lines]))


def _place(placing: Placing) -> str:
    if placing.rank is not None:
        return f"{'★ ' if placing.rank == 1 else ''}{placing.rank}"
    return DROPPED[placing.dropped_by] if placing.dropped_by is not None else "not in its catalog"


def votes_words(decisions: Sequence[Decision]) -> str:
    """Returns Markdown: the choice of most routers, or each choice of a tie."""
    votes = winners(decisions)
    most = max(votes.values())
    leading = [
        f"choose {escaped(tool, 90)}" if tool else "find no candidate" for tool, count in votes.items() if count == most
    ]
    if len(leading) == 1:
        return f"**{most} of {len(decisions)}** {leading[0]}."
    if most == 1:
        return f"**No two of {len(decisions)}** agree."
    return "**A tie**: " + ", ".join(f"**{most} of {len(decisions)}** {choice}" for choice in leading) + "."


def compared(app: App, variants: tuple[Variant, ...], decisions: tuple[Decision, ...], texts: dict[str, str]) -> None:
    st.markdown(f"{votes_words(decisions)}{badge(decisions[0].catalog)}")
    grid = st.grid(len(decisions), min_column_width=190, gap="xsmall")
    for variant, decision in zip(variants, decisions, strict=True):
        with grid.cell():
            card(app, variant, decision, texts)
    if len(decisions) < 2:
        return
    places_table(app, variants, decisions)  # as wide as the page: a column for each router
    lower_grid = st.grid(3, min_column_width=330, gap="small")
    with lower_grid.cell(column_span=2):
        difference(variants, decisions)
    with lower_grid.cell():
        names = [variant.name for variant in variants]
        chart(agreement_map(names, agreement(decisions)), key="compare:agreement")


ASKS = Asks("compare")


def page(question: Question) -> None:
    app, state, query = question.app, question.state, question.form
    texts = {name: text for name, text in question.texts.items() if name in ASKED}
    knobs = {name: text for name, text in question.texts.items() if name not in ASKED}
    variants = choose_variants(app, state, question.linked, knobs, query.catalog)
    start_meter(state, question.linked)
    meter = read_meter(state)
    state.end(
        {**question.texts, "with": ",".join(variant.text for variant in variants), **meter.texts()},
        question=question.texts,
    )
    if not query.query:
        _empty_page(state, query)
        return
    try:
        show_preparing(app, query.catalog, decides=True)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    results = list[tuple[Variant, Decision]]()
    for variant in variants:
        with st.spinner(
            f"{escaped(variant.name, 80)} decides. In a large catalog its first decision may take minutes."
        ):
            decision = _decision(question, variant)
        if decision is not None:
            results.append((variant, decision))
    if not results:
        st.info("Choose the routers to compare.", icon=":material/compare_arrows:")
        return
    names, decisions = [variant.name for variant, _ in results], tuple(decision for _, decision in results)
    compared(app, tuple(variant for variant, _ in results), decisions, texts)
    st.markdown("##### Cost in tokens")
    token_meter(state, meter, names, decisions)
    outcomes(app, query.catalog, tuple(variant for variant, _ in results))
    planner_usage(app)


def _empty_page(state: UrlState, query: QueryForm) -> None:
    st.markdown("#### Compare routers on a sub-task")
    st.markdown(
        "Enter a sub-task. Each chosen router decides on it. You see where they agree, which tools each one dropped and "
        "why, and their cost in tokens."
    )
    example_queries(state, query.catalog)


def _decision(question: Question, variant: Variant) -> Decision | None:
    try:
        return question.app.what_if.decision(
            replace(question.asked, parameters=variant.parameters, router=variant.router)
        )
    except WayfareError as error:
        st.error(f"{escaped(variant.name)}: {escaped(str(error))}", icon=":material/error:")
        return None


JOB = "compare:job"
OWN_FILE, LABELS = "a file of mine", "the labels of this catalog"
SEEDS = 20


@dataclass(frozen=True)
class Played:
    catalog: str
    tasks: str
    names: tuple[str, ...]
    runs: tuple[ExecutionRun, ...]


def outcomes(app: App, catalog: str, variants: Sequence[Variant]) -> None:
    st.markdown("##### Value of each router")
    st.caption(
        "Plays labelled tasks without a model. A task of several steps is split into sub-tasks, and solved if all steps are. The router "
        f"decides for each, and at most {ROUNDS} candidates are tried in order. A wrong tool costs its time and price, a right one succeeds with its declared reliability. {SEEDS} seeds; nothing is called or recorded."
    )
    shipped = app.lab.task_sets(catalog)
    labels = len(app.feedback.queries(catalog))
    network = chosen_network()
    about = (catalog, tuple(variant.text for variant in variants), network)
    job = known_job(JOB)
    busy = job is not None and job.under_way
    row = st.container(horizontal=True, vertical_alignment="bottom")
    choice: str = row.selectbox(
        "Tasks to play", [*shipped, *([LABELS] if labels else []), OWN_FILE], key=f"compare.tasks:{catalog}", width=320,
        persist_state="session",
    )  # fmt: skip
    file = st.file_uploader("Labelled tasks, JSON Lines", key="compare.file") if choice == OWN_FILE else None
    ready = (choice != OWN_FILE or file is not None) and bool(variants) and not busy
    if row.button(
        "Play the tasks", key="compare:play", icon=":material/play_arrow:", disabled=not ready,
        help="Tasks are being played. Stop it, or wait for its end." if busy else None,
    ):  # fmt: skip
        with errors_shown():
            if choice == LABELS:
                tasks = app.lab.parse_tasks(app.feedback.export(catalog).encode(), source=LABELS)
            elif file is not None:
                tasks = app.lab.parse_tasks(file.getvalue(), source=file.name)
            else:
                tasks = app.lab.read_tasks(shipped[choice])
            source = choice if file is None else file.name
            start_job(
                JOB, partial(_play, app, catalog, source, tasks, tuple(variants), network), about, title=f"Playing {source}",
                of=len(variants) * max(1, len(Playing(0).routed([task for task in tasks if task.relevant]))),
            )  # fmt: skip
            st.rerun()
    if job is not None and busy:
        job_progress(job, _told, stop="compare:stop")
    elif (job := job_about(JOB, about)) is not None:
        _ended(job)


def _told(job: Job) -> tuple[float, str]:
    return share_of(job), f"{escaped(job.title, 80)}: {progress_words(job)}. You can leave this page meanwhile."


def _ended(job: Job) -> None:
    if job.result is not None:
        _show(job.result)
    elif isinstance(job.error, WayfareError):
        st.error(escaped(str(job.error), 600), icon=":material/error:")
    else:
        st.info(f"{escaped(job.title, 80)}: {progress_words(job)}.", icon=":material/stop_circle:")


def _play(
    app: App,
    catalog: str,
    source: str,
    tasks: Sequence[Task],
    variants: Sequence[Variant],
    network: NetworkMoment,
    job: Job,
) -> Played:
    """Play the tasks with one router after the other. Raises WayfareError if no task has a right tool."""
    playing, possible = Playing(ROUNDS, SEEDS), [task for task in tasks if task.relevant]
    if not possible:
        raise WayfareError("No task names a tool that can do it; give tasks with `relevant`.")
    steps, runs = playing.routed(possible), list[ExecutionRun]()
    for number, variant in enumerate(variants):
        routed: list[Routed] = []
        for step in app.lab.routed(
            steps, catalog=catalog, router=variant.router, parameters=variant.parameters, network=network
        ):
            routed.append(step)
            job.report(number * len(steps) + len(routed))
        runs.append(
            app.lab.play(possible, routed, catalog=catalog, router=variant.router, playing=playing, network=network)
        )
    source = f"{source} under {network}" if network.simulated else source
    return Played(catalog, source, tuple(variant.name for variant in variants), tuple(runs))


def _show(played: Played) -> None:
    success, money = [run.success_rate for run in played.runs], [run.usd_per_solved for run in played.runs]
    chart(frontier(played.names, success, money), key="compare:frontier")
    st.caption(
        f":gray-badge[simulated] {escaped(played.tasks, 60)} of {escaped(played.catalog, 60)}, {played.runs[0].n:,} answerable tasks. "
        "Outcomes are drawn from declared statistics. ◆: no other router solves as much for less money. Bars are 95 % intervals over seeds, "
        "not over tasks. All routers find tools by the probability of fit, except those with similarity = views. The "
        "encoder was tuned on all shipped tasks but the everyday questions."
    )
    best = unbeaten([(run.success_rate.mean, run.usd_per_solved.mean) for run in played.runs])
    table([_line(*entry) for entry in zip(played.names, played.runs, best, strict=True)], key="compare:outcome-table")


def _line(name: str, run: ExecutionRun, best: bool) -> dict[str, str]:
    return {
        "router": name, "front": "◆" if best else "", "solved": _with_interval(run.success_rate, 100, 1, " %"),
        "steps": _with_interval(run.step_success_rate, 100, 1, " %"),
        "m$ each": _with_interval(run.usd_per_solved, 1e3, 2), "s each": _with_interval(run.s_per_solved, 1, 2),
        "tokens each": _with_interval(run.tokens_per_solved, 1, 0),
        "invalid route calls": f"{run.invalid_route_calls.mean:.2f}",
        "invalid tool calls": f"{run.invalid_tool_calls.mean:.2f}",
    }  # fmt: skip


def _with_interval(interval: Interval, times: float, digits: int, unit: str = "") -> str:
    if interval.mean != interval.mean:
        return "–"
    return f"{times * interval.mean:,.{digits}f}{unit} ± {times * (interval.high - interval.mean):,.{digits}f}"
