"""How the columns of the catalog's tables look: labels with units, and what each value is."""

from __future__ import annotations

from typing import Any

from streamlit.column_config import NumberColumn, TextColumn

M_DOLLAR = r"1 m\$ is a thousandth of a US dollar."
SOURCES = (
    "Where the value comes from. Declared: the catalog says so. Prior: nothing is declared, it is assumed. "
    "Edited: set here by hand. Measured: learnt from real calls."
)


def _source() -> Any:
    return TextColumn("from", help=SOURCES, width=78)


def _price(label: str, text: str) -> Any:
    return NumberColumn(label, help=f"{text} {M_DOLLAR}", format="%.4g m$", width=84)


def _time(label: str, text: str) -> Any:
    return NumberColumn(label, help=text, format="%.3g s", width=72)


def _share(label: str, text: str) -> Any:
    return NumberColumn(label, help=text, format="%.4g %%", width=74)


def _calls(text: str) -> Any:
    return NumberColumn("calls", help=text, format="localized", width=62)


SERVER_COLUMNS: dict[str, Any] = {
    "server": TextColumn("server", pinned=True, width=140),
    "category": TextColumn("category", width=92),
    "tools": NumberColumn("tools", help="Tools that the server offers.", format="localized", width=50),
    "ask_musd": _price(
        "ask", "What the server asks for one call. Empty: not declared, and none of its tools has a price."
    ),
    "ask_source": TextColumn("from", help=SOURCES + " Without any, it is the median of its tools' prices.", width=100),
    "connect_s": _time("connect", "Seconds to open a session with the server."),
    "connect_source": _source(),
    "call_s": _time("call", "Seconds that one call takes, over all tools of the server."),
    "call_source": _source(),
    "success_percent": _share("success", "Share of the calls that succeed, in percent."),
    "success_source": _source(),
    "variance": NumberColumn(
        "variance", help="Variance of the success rate: how erratic the server is.", format="%.3g", width=70
    ),
    "failure_percent": _share(
        "fails late", "Post-accept failure: share of the calls that were accepted and then never answered, in percent."
    ),
    "failure_source": _source(),
    "calls": _calls("Real calls that the statistics have learnt from."),
    "reached_by": TextColumn(
        "reached by",
        help="stdio: a command on this machine. http, sse: an address. Virtual: real MCP, simulated results. "
        "No command: it can be ranked; calls to it are virtual or simulated.",
        width=88,
    ),
}

TOOL_COLUMNS: dict[str, Any] = {
    "server": TextColumn("server", width=140),
    "tool": TextColumn("tool", pinned=True, width=190),
    "description": TextColumn("description", help="Its beginning; select a row to read all of it.", width=270),
    "price_musd": _price("price", "Price of one call. Empty: unpriced, which is not free."),
    "price_source": _source(),
    "tier": TextColumn("tier", help="Price tier that the catalog gives.", width=80),
    "latency_s": _time("latency", "Seconds that one call of the tool takes."),
    "latency_source": _source(),
    "success_percent": _share("success", "Share of the tool's calls that succeed, in percent."),
    "success_source": _source(),
    "calls": _calls("Real calls of this tool that the statistics have learnt from."),
    "hints": TextColumn("hints", help="What the server says of the tool. It is not checked.", width=150),
    "tokens": NumberColumn(
        "tokens",
        help="cl100k_base tokens of the tool's definition. Empty until the catalog is indexed.",
        format="localized",
        width=68,
    ),
}
