"""The order of tries: what to call first, what next, and when to stop, with what it is expected to bring and to cost."""

from __future__ import annotations

from core.domain.decision import PlannedTry, TryPlan
from core.shared import units
from dashboard.ui.live import noted
from dashboard.ui.text import as_html

HELP = (
    "Each try succeeds with P = p_fit · (1 − pfail) · r and costs its price, its time in money, and (1 − P) · w. The order is the "
    "one with the largest expected value, sum of reached · (P · V − cost)."
)


def order_of_tries(plan: TryPlan) -> str:
    """HTML: the tries one below the other, what the whole order is expected to give, and what the next tool would need."""
    tries = "".join(_try(number, one) for number, one in enumerate(plan.tries, 1))
    together = (
        f"<p><small>Together <b>{units.share(plan.success)}</b> solved, <b>{units.price(plan.usd)}</b> and "
        f"<b>{units.seconds(plan.time_s)}</b> expected; worth <b>{units.price(plan.value_usd)}</b> at "
        f"V = {units.price(plan.worth_usd)}.</small></p>"
    )
    following = (
        f'<p class="wayfare-faint"><small>{as_html(plan.next_tool, 60)} is worth a try from V = '
        f"{units.price(plan.next_worth_usd)} on.</small></p>"
        if plan.next_tool is not None and plan.next_worth_usd is not None
        else ""
    )
    return f"<p><strong>{noted('2 · Order of tries', HELP)}</strong></p>{tries}{together}{following}"


def _try(number: int, one: PlannedTry) -> str:
    reached = "" if number == 1 else f" · reached {units.share(one.reached)}"
    said = f"{units.share(one.chance)}{reached} · cost {units.price(one.cost_usd)}"
    return (
        f'<div class="wayfare-try">{number}. <b>{as_html(one.tool, 50)}</b> {said}'
        f'<progress max="1" value="{min(1.0, one.chance):.4f}" aria-label="{as_html(one.tool, 50)}: {said}"></progress></div>'
    )
