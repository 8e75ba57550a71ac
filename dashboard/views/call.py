"""The Call page: a form from the tool's schema, the call, its result, and what it changed."""

from __future__ import annotations

import streamlit as st

from core.calls import CallReport
from core.console import Console
from core.errors import WayfareError
from dashboard.session import console, first_catalog
from dashboard.widgets.call_form import call_form
from dashboard.widgets.call_learning import learning, next_decision
from dashboard.widgets.call_outcome import outcome_head
from dashboard.widgets.call_run import Run, attempted, call_bar, run_of, watch
from dashboard.widgets.call_target import Target, choose_target
from dashboard.widgets.call_tool import tool_card
from dashboard.widgets.result_view import result_view
from dashboard.widgets.text import escaped


def page() -> None:
    """Draw it: the tool and its form on the left, the result and what was learnt on the right."""
    opened = console()
    target = choose_target(opened, first_catalog())
    if target is None:
        return
    run = run_of(target)
    under_way = run is not None and not run.handle.done
    left, right = st.columns([1, 1.25], gap="medium")
    with left:
        tool_card(opened, target)
        filled = call_form(opened, target.catalog.name, target.tool, attempted=attempted(target))
        call_bar(opened, target, filled)
    with right:
        _result(opened, target, run)
    if run is not None and under_way and run.handle.done:
        st.rerun()  # it ended between the two columns: the left one still shows it under way


def _result(opened: Console, target: Target, run: Run | None) -> None:
    st.markdown("#### Result")
    under_way = st.empty()  # of its own, so that nothing of it stays between the lines of the result
    if run is None:
        st.info(
            "Not called yet: fill in the form and press Call. "
            "The result, its time and price, and what was learnt will stand here."
        )
    elif not run.handle.done:
        with under_way.container():
            watch(run)
    else:
        report = _report(run)
        if report is not None:
            outcome_head(run, report.outcome)
            result_view(report.outcome)
            learning(report)
            next_decision(opened, run, target.tool.id)


def _report(run: Run) -> CallReport | None:
    """The report of a call that is done; what went wrong on our side is said."""
    try:
        return run.handle.report(0)
    except WayfareError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - a call runs in its own thread; whatever ended it belongs on the page
        reason = f"{type(error).__name__}: {error}"
    st.error(f"Wayfare could not finish this call: {escaped(reason)} Press Call to try again.", icon=":material/error:")
    return None
