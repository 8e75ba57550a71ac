"""The declared economics of the runnable servers, and the draw of every price of the sample."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist, median
from types import MappingProxyType
from typing import Any, Literal

Document = dict[str, Any]
Ask = float | Literal["median"] | None

FIGURES = "declared, not measured"
LOW_REASON = "local computation or lookup"
HIGH_PRICE_USD = NormalDist(0.0225, 0.005)
LOW_PRICE_LIMIT_USD = 0.0025


@dataclass(frozen=True, slots=True)
class Profile:
    """One server: its module and its declared costs.

    `ask` is the advertised price per call in USD; "median" is the median of the tools' prices, None advertises nothing.
    `slow` multiplies the latency of single tools. `high` maps the tools of the high price tier to the reason.
    """

    module: str
    category: str
    conn_s: float
    call_s: float
    success: float
    success_variance: float
    post_accept_failure: float
    ask: Ask = "median"
    high: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    slow: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


RENDERS = "renders a picture"
GROUNDS = "geographic grounding"
CHARTS = ("line_chart", "bar_chart", "scatter_plot", "histogram", "pie_chart", "heat_map", "box_plot")
GROUNDING = (
    "distance_between_cities",
    "find_city",
    "nearest_cities",
    "area_on_globe",
    "is_inside_area",
    "route_length",
)

PROFILES: tuple[Profile, ...] = (
    Profile("sandbox_files", "files", 0.35, 0.40, 0.970, 0.004, 0.01, slow={"search_in_files": 2.5, "find_files": 1.5}),
    Profile(
        "larder_sql", "data", 0.60, 0.90, 0.930, 0.010, 0.02,
        high={"run_query": "free-form analytical query over a whole database"}, slow={"run_query": 1.6},
    ),
    Profile("csv_tables", "data", 0.40, 1.10, 0.940, 0.008, 0.02, slow={"join_tables": 1.5, "pivot_table": 1.4}),
    Profile("quillwork", "text", 0.25, 0.35, 0.960, 0.005, 0.01,
        high={"summarise": "language work as a model does it"}, slow={"summarise": 4.0}),
    Profile("pattern_bench", "text", 0.30, 0.45, 0.950, 0.006, 0.02, slow={"escape_text": 0.4, "explain_pattern": 0.5}),
    Profile("json_workbench", "data", 0.20, 0.30, 0.980, 0.002, 0.01, slow={"validate_json": 2.0}),
    Profile("unit_exchange", "conversion", 0.15, 0.20, 0.990, 0.001, 0.005),
    Profile("meridian", "time", 0.20, 0.25, 0.985, 0.002, 0.005, slow={"find_meeting_hours": 1.6}),
    # accepted if the sub-task fits well: the posted price rises with similarity
    Profile("statlab", "statistics", 0.30, 0.60, 0.975, 0.003, 0.01, ask=0.0162,
        high={"compare_samples": "thousands of resampled comparisons"}, slow={"compare_samples": 3.0}),
    Profile("sealwax", "security", 0.25, 0.30, 0.980, 0.002, 0.01,
        slow={"morse_audio": 2.5}, high={"morse_audio": "synthesises sound"}),
    # near the edge: accepted while the network is slow, rejected while it is fast
    Profile("waypoint_atlas", "geography", 0.70, 1.20, 0.950, 0.010, 0.02, ask=0.0278,
        high=dict.fromkeys(GROUNDING, GROUNDS)),
    Profile("plotwright", "charts", 0.80, 1.60, 0.920, 0.015, 0.03, high=dict.fromkeys(CHARTS, RENDERS),
        slow={"heat_map": 1.3, "box_plot": 1.2}),
    Profile("qr_press", "pictures", 0.30, 0.50, 0.970, 0.004, 0.01, high={"qr_png": RENDERS}, slow={"qr_text": 0.6}),
    Profile("marginalia", "notes", 0.35, 0.40, 0.955, 0.006, 0.02),
    Profile("gremlin", "testing", 0.50, 1.80, 0.550, 0.060, 0.25, ask=None),
)  # fmt: skip


def _chance(purpose: str, tool_id: str) -> random.Random:
    """Returns the random numbers of one tool, which do not depend on other tools."""
    return random.Random(f"wayfare/{purpose}/{tool_id}")  # noqa: S311 - repeatable on purpose


def tool_economics(
    tool_id: str, *, call_s: float, success: float, latency_factor: float = 1.0, high_reason: str = ""
) -> dict[str, float | str]:
    """Returns declared price, tier, latency and success of one tool of a server with these times and rates.

    Low tier: U(0, 0.0025) USD; high tier, if there is a reason for it: N(0.0225, 0.005^2) USD, cut at 0.
    """
    drawn = _chance("price", tool_id).uniform(1e-9, 1 - 1e-9)
    price = max(0.0, HIGH_PRICE_USD.inv_cdf(drawn)) if high_reason else drawn * LOW_PRICE_LIMIT_USD
    spread = _chance("latency", tool_id).uniform(0.85, 1.15)
    success += _chance("success", tool_id).uniform(-0.02, 0.01)
    return {
        "price_usd": round(price, 6),
        "tier": "high" if high_reason else "low",
        "tier_reason": high_reason or LOW_REASON,
        "latency_s": round(call_s * latency_factor * spread, 3),
        "success": round(min(0.999, success), 3),
    }


def ask_price(ask: Ask, prices: list[float]) -> dict[str, float]:
    """Returns the server's advertised price, or nothing if it advertises none."""
    if ask is None:
        return {}
    return {"ask_usd": round(median(prices), 6) if ask == "median" else ask}


def written(document: Document) -> Document:
    """Returns a written server with its drawn prices and rates. `ask`, `latency_factor` and each tool's tier define the
    draw."""
    tools = [
        tool
        | tool_economics(
            f"{document['name']}::{tool['name']}",
            call_s=document["call_s"],
            success=document["success"],
            latency_factor=tool.get("latency_factor", 1.0),
            high_reason=tool["tier_reason"] if tool["tier"] == "high" else "",
        )
        for tool in document["tools"]
    ]
    drawn = {"figures": FIGURES, **ask_price(document["ask"], [tool["price_usd"] for tool in tools])}
    kept = {key: value for key, value in document.items() if key not in {"tools", "ask_usd"}}
    return {**kept, **drawn, "tools": tools}
