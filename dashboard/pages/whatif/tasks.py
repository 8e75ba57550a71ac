"""Over tasks: the labelled tasks that change when a knob is turned, the fragile ones, and the tasks of one bar."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from core.app import App
from core.decisions.preset_comparison import Against
from core.decisions.routing import Asked
from core.decisions.tornado import Bar, Tornado
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.routers.presets import PRESETS
from dashboard.pages.whatif.charts import tornado_chart
from dashboard.ui.chart import chart
from dashboard.ui.presets import imported_presets
from dashboard.ui.table import Column, table
from dashboard.ui.url_state import UrlState, select

FRAGILE = 0.1
OWN = "own:"  # no shipped preset has such a name
BAR = "whatif:bar"


def tasks_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:
    """Draw the effects of knobs on the tasks of the catalog. The sub-task of the page is not used."""
    sets = app.lab.task_sets(asked.catalog)
    if not sets:
        st.info("This catalog has no labelled tasks. The Lab page measures your own.", icon=":material/science:")
        return
    name = select(st.container(), state, {}, "tasks", "Tasks", list(sets), width=320)
    with st.spinner("Deciding every task with every turn of every knob."):
        found = app.what_if.tornado(asked, app.lab.read_tasks(sets[name]))
    st.markdown(
        f"**{len(found.tasks):,}** answerable tasks. The winner is right for **{100 * found.success:.1f} %** of them and costs "
        f"**{1e3 * found.usd:.3g} m\\$** on average (declared prices, nothing is called)."
    )
    knobs = {knob.name: knob for knob in asked.parameters.knobs()}
    moving = {bar.name for bar in found.bars if bar.changed}
    if moving:
        chart(tornado_chart(found, knobs), key="whatif:tornado", choose=partial(_choose, state=state))
        st.caption("Left: a lower value of the knob, right: a higher one. Full colour: 10 %, paler: 25 % and 50 %.")
    still = [knobs[name].symbol for name in dict.fromkeys(bar.name for bar in found.bars) if name not in moving]
    if still:
        st.caption(f"Turned by up to 50 %, {', '.join(still)} {'change' if len(still) > 1 else 'changes'} no winner.")
    _presets(app, asked, app.lab.read_tasks(sets[name]), prefix)
    symbols = {name: knob.symbol for name, knob in knobs.items()}
    _effects(found, symbols)
    _tasks_of(found, st.session_state.get(state.key("bar"), ""), symbols)
    _fragile(found, symbols)


def _choose(name: str, *, state: UrlState) -> None:
    st.session_state[state.key("bar")] = name


def _presets(app: App, asked: Asked, tasks: Sequence[Task], prefix: str) -> None:
    """Draw shipped and imported presets beside the current knobs. They are computed when the fold is opened."""
    fold = st.expander("Presets beside these knobs", icon=":material/compare:", key="whatif:presets", on_change="rerun")
    if not fold.open:
        return
    with fold:
        own = {f"{OWN}{place}": one for place, one in enumerate(imported_presets(prefix))}
        now, *others = app.what_if.presets(asked, tasks, {name: one.parameters for name, one in own.items()})
        titles = {name: one.name or "imported" for name, one in own.items()} | {
            name: one.title for name, one in PRESETS.items()
        }
        notes = {name: one.note for name, one in own.items()} | {name: one.sentence for name, one in PRESETS.items()}
        rows = [
            {
                "preset": one_line(titles[one.name], 60) if one.name else "these knobs",
                "success, %": _mean(100 * one.success, one.success_against, 100, one is now),
                "money, m$ per task": _mean(1e3 * one.usd, one.usd_against, 1e3, one is now),
                "time, s per task": _mean(one.time_s, one.time_against, 1, one is now),
                "another winner": "–" if one is now else f"{len(one.changed)} tasks",
                "purpose": one_line(notes[one.name], 200) if one.name else "The knobs on the left.",
            }
            for one in (now, *others)
        ]
        table(rows)
        st.caption(
            "Imported presets are listed, too. In brackets: the difference from these knobs over the same tasks, with its 95 % interval (paired bootstrap). Time is the "
            "expected time until the winner succeeds, with the statistics of the catalog. Nothing is called."
        )


def _mean(value: float, against: Against, times: float, first: bool) -> str:
    """`61.2 (+1.5, −0.4 to +3.3)`."""
    if first:
        return f"{value:.3g}"
    mean, low, high = (
        f"{times * number:+.2g}".replace("-", "−") for number in (against.mean, against.low, against.high)
    )
    return f"{value:.3g} ({mean}, {low} to {high})"


def _effects(found: Tornado, symbols: dict[str, str]) -> None:
    rows = [
        {
            "knob": symbols[bar.name], "turned": f"{bar.turn:+.0%}", "from": bar.now, "to": bar.value,
            "another winner, %": 100 * bar.share, "success, points": 100 * bar.success, "money, m$ per task": 1e3 * bar.usd,
        }
        for bar in sorted(found.bars, key=lambda bar: -bar.share)
    ]  # fmt: skip
    with st.expander("All bars as numbers", icon=":material/table:"):
        table(
            rows,
            [
                Column(name, format="%.4g")
                for name in ("from", "to", "another winner, %", "success, points", "money, m$ per task")
            ],
        )


def _tasks_of(found: Tornado, name: str, symbols: dict[str, str]) -> None:
    """Draw the tasks of the clicked bar."""
    knob, _, turn = name.partition("|")
    bar = next((one for one in found.bars if one.name == knob and f"{one.turn:g}" == turn), None)
    if bar is None:
        st.caption("Click a bar for its tasks.")
        return
    st.markdown(
        f"##### {len(bar.changed)} task{'' if len(bar.changed) == 1 else 's'} with another winner at {_turn(bar, symbols)}"
    )
    _table(found, [(place, "") for place in bar.changed])


def _fragile(found: Tornado, symbols: dict[str, str]) -> None:
    fragile = found.fragile(within=FRAGILE)
    st.markdown(
        f"##### {len(fragile)} fragile task{'' if len(fragile) == 1 else 's'}: another winner at ±10 % of a single knob"
    )
    if fragile:
        _table(found, [(place, ", ".join(_turn(bar, symbols) for bar in bars)) for place, bars in fragile])


def _turn(bar: Bar, symbols: dict[str, str]) -> str:
    return f"{symbols[bar.name]} {bar.turn:+.0%}"


def _table(found: Tornado, places: list[tuple[int, str]]) -> None:
    rows = [
        {"task": found.tasks[place].subtask, "winner today": found.winners[place] or "none",
         "right": "yes" if found.winners[place] in found.tasks[place].relevant else "no", **({"changes at": why} if why else {})}
        for place, why in places
    ]  # fmt: skip
    table(rows)
