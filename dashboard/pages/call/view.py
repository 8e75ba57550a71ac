"""The Call page: a form from the tool's schema, the call, its result, and what it changed."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.services.call.calls import CallReport
from core.shared.errors import WayfareError
from dashboard.pages.call.form import call_form
from dashboard.pages.call.judgement import judgement
from dashboard.pages.call.learning import learning, next_decision
from dashboard.pages.call.outcome import outcome_head
from dashboard.pages.call.result import result_view
from dashboard.pages.call.run import Run, attempted, call_bar, run_of, watch
from dashboard.pages.call.target import Target, choose_target
from dashboard.pages.call.tool_card import tool_card
from dashboard.session import current_app, first_catalog
from dashboard.ui.text import escaped


def page() -> None:
    """Draw it: the tool and its form on the left, the result and what was learnt on the right."""
    app = current_app()
    target = choose_target(app, first_catalog())
    if target is None:
        return
    run = run_of(target)
    under_way = run is not None and not run.handle.done
    left, right = st.columns([1, 1.25], gap="medium")
    with left:
        tool_card(app, target)
        filled = call_form(target.catalog.name, target.tool, attempted=attempted(target))
        call_bar(app, target, filled)
    with right:
        _result(app, target, run)
    if run is not None and under_way and run.handle.done:
        st.rerun()  # it ended between the two columns: the left one still shows it under way


def _result(app: App, target: Target, run: Run | None) -> None:
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
            judgement(app, run, report.outcome)
            learning(report)
            next_decision(app, run, target.tool.id)


def _report(run: Run) -> CallReport | None:
    """The report of a call that is done; what went wrong on our side is shown."""
    try:
        return run.handle.report(0)
    except WayfareError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - a call runs in its own thread; whatever ended it belongs on the page
        reason = f"{type(error).__name__}: {error}"
    st.error(f"Wayfare could not finish this call: {escaped(reason)} Press Call to try again.", icon=":material/error:")
    return None
