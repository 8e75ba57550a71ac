"""A decision to present from: large type, one step at a time. Made of the shown decision alone; nothing is computed."""

from __future__ import annotations

from pathlib import Path

from streamlit.components.v2 import component

from core.domain import units
from core.domain.decision import Decision, Fit
from core.domain.trace import ServerRow, ToolRow
from core.routers.why import condition, fit_sentence, why
from dashboard.pages.route.charts import sign
from dashboard.theme import ACCEPTED_SIGN, REJECTED_SIGN
from dashboard.ui.text import as_html, counted

ASSETS = Path(__file__).parents[2] / "assets"
SHOWN, OTHERS = 5, 3  # rows of a step and losers that are explained: what the last row of a room can read

_present = component(
    "wayfare.present",
    html='<button class="wayfare-present-open" type="button">Present</button>',
    css=(ASSETS / "present.css").read_text(encoding="utf-8"),
    js=(ASSETS / "present.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def present(decision: Decision) -> None:
    """Draw the button that opens the decision to present from. Arrow keys lead through its steps, Escape closes it."""
    _present(key="route:present", data={"steps": steps(decision)}, width="content")


def steps(decision: Decision) -> list[dict[str, str]]:
    """Returns the title and the HTML of each step: question, candidates, auction or stages, winner, why."""
    hint = f"<p>of a server for {as_html(decision.server_hint, 120)}</p>" if decision.server_hint else ""
    return [
        {
            "title": "The question",
            "html": f"<blockquote>{as_html(decision.subtask, 400)}</blockquote>{hint}<p>{counted(len(decision.servers.names), 'server')} and "
            f"{counted(len(decision.tools.ids), 'tool')} of the catalog {as_html(decision.catalog, 60)} could be asked.</p>",
        },
        {"title": "The candidates", "html": _candidates(decision)},
        {"title": "The auction", "html": _auction(decision)} if decision.economic else {"title": "The stages", "html": _stages(decision)},
        {"title": "The winner", "html": _winner(decision)},
        {"title": "Why", "html": _why(decision)},
    ]  # fmt: skip


def _candidates(decision: Decision) -> str:
    rows = decision.rivals(SHOWN)
    if not rows:
        return f"<p>{as_html(decision.reason, 300)}</p>"
    tools = decision.tools_at(rows)
    return _table(("tool", _fits_label(decision.fit), "time", "price a call", as_html(decision.score, 30)), [
        (f"{sign(tool)} {as_html(tool.tool, 60)}", _fits(decision, row, tool), units.seconds(tool.time_cost_s), units.price(tool.price_usd), units.plain(tool.utility))
        for row, tool in zip(rows, tools, strict=True)
    ])  # fmt: skip


def _fits_label(fit: Fit | None) -> str:
    return "similarity" if fit is None else f"fits{condition(fit)}"


def _fits(decision: Decision, row: int, tool: ToolRow) -> str:
    return f"{tool.similarity:.2f}" if decision.fit is None else units.share(float(decision.fit.tools[row]))


def _auction(decision: Decision) -> str:
    servers = [decision.server_at(row) for row in decision.shortlist()[:SHOWN]]
    rows = [
        (as_html(one.server, 60), _price(one.posted_price_usd), _price(one.ask_usd), _answer(one)) for one in servers
    ]
    return (
        f"<p>Each server of the short-list is offered a price. It accepts if that is at least its ask.</p>"
        f"{_table(('server', 'offered', 'asks', ''), rows)}"
    )


def _price(value: float | None) -> str:
    return "none" if value is None else units.price(value)


def _answer(one: ServerRow) -> str:
    return f"{ACCEPTED_SIGN} accepts" if one.accepted else f"{REJECTED_SIGN} rejects"


def _stages(decision: Decision) -> str:
    rows = [(as_html(one.name, 60), f"{one.kept:,} of {one.of:,} {as_html(one.what, 30)}") for one in decision.stages]
    return _table(("stage", "kept"), rows)


def _winner(decision: Decision) -> str:
    winner = decision.winner
    if winner is None:
        return f"<p class='wayfare-present-big'>No tool</p><p>{as_html(decision.reason, 300)}</p>"
    fits = "" if decision.fit is None else f"{units.share(float(decision.fit.tools[decision.candidates[0]]))}"
    figures = (
        (_fits_label(decision.fit), fits), ("price a call", units.price(winner.price_usd)), ("expected time", units.seconds(winner.time_cost_s)),
        ("success", units.share(winner.success)),
    )  # fmt: skip
    listed = "".join(f"<div><dt>{name}</dt><dd>{as_html(value)}</dd></div>" for name, value in figures if value)
    name = f"★ {as_html(winner.tool, 90)}"
    if decision.fit is not None and decision.fit.doubtful:
        name = fit_sentence(decision.fit, decision.candidates[0], as_html(winner.tool, 90))
    return f"<p class='wayfare-present-big'>{name}</p><dl>{listed}</dl>"


def _why(decision: Decision) -> str:
    winner = decision.winner
    if winner is None:
        return f"<p>{as_html(decision.reason, 400)}</p>"
    others = [tool.tool for tool in decision.tools_at(decision.rivals(SHOWN)) if tool.tool != winner.tool][:OTHERS]
    lost = "".join(f"<p>{as_html(tool, 60)}: {as_html(why(decision, tool), 300)}</p>" for tool in others)
    return f"<p><b>{as_html(winner.tool, 60)}: {as_html(why(decision, winner.tool), 400)}</b></p>{lost}"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Returns a table of cells that are HTML."""
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
