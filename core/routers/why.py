"""Explains the place of a server or a tool in a decision, in one sentence with the numbers."""

from __future__ import annotations

import math

import numpy as np

from core.domain import units
from core.domain.catalog import Catalog
from core.domain.decision import Decision, Fit
from core.domain.errors import UnknownNameError
from core.domain.trace import DROPS, Drop, ServerRow, ToolRow
from core.relevance.lexical import terms, words_in_common
from core.relevance.text_views import full
from core.routers.ehrr import WRITING_SHARE, EhrrParameters
from core.routers.parameters import FIT
from core.routers.utility import Headroom, headroom

MUCH_BETTER = 0.5  # of the best tool's probability of fit
LOW_FIT = 0.2
"""Below this fit, the low fit is the main cause why a tool is not chosen."""
OTHER_DROPS = {
    Drop.PRUNED: "Not offered, because it is not in the curated list",
    Drop.BELOW_THRESHOLD: "Below the threshold",
    Drop.GATED: "Held back, because a precondition on the agent's state does not hold",
    Drop.NOT_RETRIEVED: "Not retrieved, though its server was looked at",
    Drop.REFUSED: "Refused with the whole sub-task, for nothing fits well enough",
}


def why(decision: Decision, name: str) -> str:
    """A sentence about a server (by name) or a tool (by `server::tool`) of a decision. Raises UnknownNameError."""
    if name in decision.servers.names:
        return why_server(decision, decision.servers.names.index(name))
    if name in decision.tools.ids:
        return why_tool(decision, decision.tools.ids.index(name))
    raise UnknownNameError(f"{name!r} is not in this decision; choose a server or tool of {decision.catalog!r}.")


IF_ANYTHING = " if anything does"
"""p_fit is fitted to questions that some tool can do, and P(nothing fits) also to impossible ones, so p_fit leaves P out."""


def condition(fit: Fit) -> str:
    """The words after a p_fit if P(nothing fits) is at least one half, else empty."""
    return IF_ANYTHING if fit.doubtful else ""


def fit_sentence(fit: Fit, row: int | None = None, name: str = "") -> str:
    """A sentence with the probability that a tool fits, by row and name, and that no tool fits.

    >>> from dataclasses import replace
    >>> fit = Fit(np.array([0.61]), np.array([0.61]), 0.88, np.zeros(1), {}, confidence="nothing")
    >>> fit_sentence(fit, 0, "a::b"), fit_sentence(fit)
    ('Probably nothing fits: 88 %. Nearest: a::b, which fits 61 % if anything does.', 'Probably nothing fits: 88 %.')
    >>> fit_sentence(replace(fit, nothing=0.2, confidence="unsure"), 0, "a::b")
    'a::b fits 61 % if anything does; P(nothing fits) is 20 %.'
    """
    chance = "not known" if fit.nothing is None else units.share(fit.nothing)
    fits = "" if row is None else f"fits {units.share(float(fit.tools[row]))}{IF_ANYTHING}"
    if fit.confidence == "nothing":
        return f"Probably nothing fits: {chance}.{f' Nearest: {name}, which {fits}.' if fits else ''}"
    return f"{f'{name} {fits}; ' if fits else ''}P(nothing fits) is {chance}."


def fit_note(decision: Decision) -> str:
    """A sentence on why the winner won, if another tool fits much better, or fits better and writes.

    Empty if the winner is about as likely to fit as any tool."""
    winner, fit = decision.winner, decision.fit
    if winner is None or fit is None or not decision.economic:
        return ""
    row, best = decision.candidates[0], int(np.argmax(fit.tools))
    likelier = (
        f" {decision.tools.ids[best]} is likelier to fit, {units.share(float(fit.tools[best]))} against "
        f"{units.share(float(fit.tools[row]))}"
    )
    if (best in decision.writing or lessened(decision, best)) and row not in decision.writing:
        return f"{likelier}, but it writes, and the question asks to know."
    if fit.tools[row] >= MUCH_BETTER * fit.tools[best]:
        return ""
    servers = decision.tools.server_row[[best, row]]
    both = decision.tools.similarity[[best, row]]
    if not decision.servers.shortlisted[servers[0]]:
        both = decision.servers.similarity[servers]
    cause = "time and price" if both[0] > both[1] else "the similarity of views"
    return f"{likelier}; {cause} decided under these parameters."


def language_note(decision: Decision) -> str:
    if decision.fit is None or not decision.fit.language:
        return ""
    return f" The question reads as {decision.fit.language}, and the encoder knows English: ask in English, or expect a wrong tool."


def words_note(decision: Decision) -> str:
    return " By words alone: the catalog has no vectors yet." if decision.by_words else ""


def parts_note(decision: Decision) -> str:
    """A further sentence of the reason, if the question seems to ask for several things."""
    return f" The question seems to ask for {decision.parts} things, and a tool does one." if decision.parts > 1 else ""


def network_note(decision: Decision) -> str:
    if not decision.network.simulated:
        return ""
    if decision.network.with_simulated:
        return " Simulated calls count here as if they were real."
    return f" Times and failures are simulated: the network is {decision.network}."


def why_server(decision: Decision, row: int) -> str:
    """A sentence about a server of a decision, and a further one if its success was explored."""
    reason = _why_server(decision, decision.server_at(row))
    if decision.explored is None:
        return reason
    return f"{reason} {_explored(decision.explored.how, decision.servers.success[row], decision.explored.server_estimate[row])}"


def why_tool(decision: Decision, row: int) -> str:
    """A sentence about a tool of a decision, with further ones if it writes but should not and if its success was explored."""
    reason = _why_tool(decision, row) + writes_note(decision, row)
    if decision.explored is None:
        return reason
    return f"{reason} {_explored(decision.explored.how, decision.tools.success[row], decision.explored.tool_estimate[row])}"


AHEAD = 3


def reasons_of_fit(decision: Decision, row: int, catalog: Catalog) -> list[tuple[str, str]]:
    """Why the fit of a tool is high or low, by name: its words in common with the sub-task, the missing words, its relevance, and the
    tools that fit better. Empty if the fit is unknown or the catalog no longer has the tool."""
    fit, catalog_row = decision.fit, catalog.tool_row.get(decision.tools.ids[row])
    if fit is None or catalog_row is None:
        return []
    better = [int(tool) for tool in np.argsort(-fit.tools, kind="stable")[:AHEAD] if fit.tools[tool] > fit.tools[row]]
    common = words_in_common(decision.query, full(catalog.tools[catalog_row]))
    lacking = [word for word in dict.fromkeys(terms(decision.query)) if word not in common]
    return [
        ("words in common", ", ".join(common) or "none"), ("words that its text lacks", ", ".join(lacking) or "none"),
        ("relevance", f"{float(fit.relevance[row]):.2f}, the best has {float(fit.relevance.max()):.2f}"),
        ("ahead of it", ", ".join(f"{decision.tools.ids[tool]} {units.share(float(fit.tools[tool]))}" for tool in better) or "nothing"),
    ]  # fmt: skip


def writes_note(decision: Decision, row: int) -> str:
    """A sentence about a tool that writes though the question asks to know, if it is a candidate or counts less."""
    is_lessened = lessened(decision, row)
    if not is_lessened and row not in decision.writing:
        return ""
    return f" It writes, and the question asks to know{': its fit counts a fifth' if is_lessened else ''}."


def lessened(decision: Decision, row: int) -> bool:
    """Whether the fit of a tool counts a fifth because it writes and the question asks to know."""
    p, fit = decision.parameters, decision.fit
    if fit is None or not p.get("reads_first") or p.get("similarity") != FIT:
        return False
    return decision.tools.similarity[row] > 0 and math.isclose(
        decision.tools.similarity[row], WRITING_SHARE * fit.tools[row], rel_tol=1e-6
    )


def _explored(how: str, success: float, estimate: float) -> str:
    wording = "drawn as" if how == "thompson" else "taken, with a bonus, as"
    return f"Its success was {wording} {units.share(success)}; the figures alone say {units.share(estimate)}."


def _why_server(decision: Decision, server: ServerRow) -> str:
    if not server.shortlisted:
        return _not_shortlisted(decision, server)
    if not server.accepted:
        return _rejected(server)
    place = f"{server.server} ranks {_ordinal(server.rank)} with {decision.score} {server.utility:z.3f}"
    if server.posted_price_usd is None:
        return f"{place} and is on the short-list; no auction was held."
    reason = (
        "it advertises no ask price"
        if server.ask_usd is None
        else f"its ask price of {units.price(server.ask_usd)} is within it"
    )
    return f"{place}; offered {units.price(server.posted_price_usd)} a call it accepts, because {reason}."


def _why_tool(decision: Decision, row: int) -> str:
    tool = decision.tool_at(row)
    server = decision.server_at(int(decision.tools.server_row[row]))
    match tool.dropped_by:
        case None:
            remark = decision.remarks.get(row)
            return f"{_kept(decision, tool)} It {remark}." if remark else _kept(decision, tool)
        case Drop.NOT_SHORTLISTED | Drop.REJECTED as dropped:
            reason = _rejected(server) if dropped is Drop.REJECTED else _not_shortlisted(decision, server)
            return f"{_hardly_fits(decision, row) or 'Not considered'}: {reason}"
        case Drop.NOT_AFFORDABLE:
            gap = (tool.price_usd or 0.0) - (server.posted_price_usd or 0.0)
            return (
                f"Not affordable: {tool.tool} costs {units.price(tool.price_usd)} a call, {units.price(gap)} more than the "
                f"posted price of {units.price(server.posted_price_usd)} offered to {tool.server}."
            )
        case Drop.OUTRANKED:
            return _outranked(decision, tool)
        case Drop.NOT_WORTH:
            return _not_worth(decision, row)
        case dropped:
            remark = decision.remarks.get(row)
            remark_text = f"; {remark}" if remark else ""
            return f"{OTHER_DROPS[dropped]}: {tool.tool} has {decision.score} {tool.utility:z.3f}{remark_text}."


def _hardly_fits(decision: Decision, row: int) -> str:
    """The low fit of a tool as a clause; empty if it is not low."""
    if decision.fit is None or decision.fit.tools[row] >= LOW_FIT:
        return ""
    return f"Hardly fits ({units.share(float(decision.fit.tools[row]))})"


def _not_worth(decision: Decision, row: int) -> str:
    """The main cause first: the fit, the reliability, the price or the time."""
    tool, remark = decision.tool_at(row), decision.remarks.get(row)
    end = f"{tool.tool} has {decision.score} {tool.utility:z.3f}{f'; {remark}' if remark else ''}."
    if decision.tries is not None and tool.utility > 0:
        return f"Not worth a try once those before it have failed, because it is like one of them and likely fails with it: {end}"
    if low_fit := _hardly_fits(decision, row):
        return f"{low_fit}, so a try is not worth its cost: {end}"
    fit = "" if decision.fit is None else f" than a fit of {units.share(float(decision.fit.tools[row]))} brings"
    if tool.success < LOW_FIT:
        cause = f"one attempt succeeds with only {units.share(tool.success)}, so a result costs more{fit}"
    elif tool.money_cost_s > tool.time_cost_s:
        cause = f"its price of {units.price(tool.price_usd)} a call costs more{fit}"
    else:
        cause = f"{units.seconds(tool.time_cost_s)} until a result cost more{fit}"
    return f"Not worth a try, {cause}: {end}"


def _kept(decision: Decision, tool: ToolRow) -> str:
    rivals = int((decision.tools.rank > 0).sum())
    outranked = int((decision.tools.dropped == DROPS.index(Drop.OUTRANKED)).sum())
    if rivals == 1 and not outranked:
        return f"Chosen: with {decision.score} {tool.utility:z.3f} it is the only tool that is left."
    if decision.tries is not None:
        return _tried(decision, tool)
    if rivals == 1:  # a selector read the others, too
        return (
            f"Chosen: with {decision.score} {tool.utility:z.3f} it is the only one taken of {outranked + 1} retrieved."
        )
    if tool.rank == 1:
        lead = f"Chosen: {decision.score} {tool.utility:z.3f} is the highest of {rivals} {_racing(decision)}"
        if len(decision.candidates) > 1:
            second = decision.tool_at(decision.candidates[1])
            return f"{lead}, {tool.utility - second.utility:z.3f} ahead of {second.tool}."
        return f"{lead}."
    first = decision.tool_at(decision.candidates[0])
    return (
        f"Candidate {tool.rank} of {len(decision.candidates)}: {decision.score} {tool.utility:z.3f}, "
        f"{first.utility - tool.utility:z.3f} behind {first.tool}."
    )


def _tried(decision: Decision, tool: ToolRow) -> str:
    """Its place in the order of tries, which may differ from the order of their values."""
    score, count = f"{decision.score} {tool.utility:z.3f}", len(decision.candidates)
    if tool.rank == 1:
        if count == 1:
            return f"Chosen: {score}, and no more tries than n = {decision.parameters['n']} are made."
        second = decision.tool_at(decision.candidates[1])
        return f"Chosen: {score}, and the order of tries that is worth most begins with it; {second.tool}, with {second.utility:z.3f}, is next."
    previous = decision.tool_at(decision.candidates[(tool.rank or count) - 2])
    return f"Try {tool.rank} of {count}: {score}; tried where {previous.tool}, with {previous.utility:z.3f}, fails."


def _outranked(decision: Decision, tool: ToolRow) -> str:
    if decision.tries is not None:
        count = len(decision.candidates)
        others = "another try is worth more" if count == 1 else f"{count} other tries are worth more together"
        return f"Outranked: {tool.tool} has {decision.score} {tool.utility:z.3f}, and {others}."
    if tool.rank is None:  # a selector read it and took other tools
        return (
            f"Not selected: {tool.tool} was retrieved with {decision.score} {tool.utility:z.3f}, and others were taken."
        )
    last = decision.tool_at(decision.candidates[-1])
    return (
        f"Outranked: {decision.score} {tool.utility:z.3f} puts {tool.tool} {_ordinal(tool.rank)}; the last of "
        f"{len(decision.candidates)} candidates, {last.tool}, has {last.utility:z.3f}."
    )


def _not_shortlisted(decision: Decision, server: ServerRow) -> str:
    place = (
        f"{server.server} ranks {_ordinal(server.rank)} of {len(decision.servers.names)} servers "
        f"with {decision.score} "
        f"{server.utility:z.3f}"
    )
    if not decision.shortlist():
        return f"{place}; no server is on the short-list."
    last = decision.server_at(decision.shortlist()[-1])
    return (
        f"{place}; the short-list takes {len(decision.shortlist())}, and the last on it, {last.server}, has "
        f"{last.utility:z.3f}."
    )


def _rejected(server: ServerRow) -> str:
    return (
        f"{server.server} rejects in the auction: it asks {units.price(server.ask_usd)} a call, and the posted price is "
        f"{units.price(server.posted_price_usd)}."
    )


def _racing(decision: Decision) -> str:
    auction = bool(np.isfinite(decision.servers.posted_price_usd).any())
    return "affordable tools on accepted servers" if auction else "tools that are left"


def _ordinal(n: int) -> str:
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def tool_headroom(decision: Decision, row: int) -> Headroom | None:
    """How much worse EHRR's winner may become, or how good a feasible loser would have to be. Returns None without a rival, and if
    similarity alone ranks."""
    p = EhrrParameters().replaced(decision.parameters)
    tools, servers = decision.tools, decision.servers
    rivals = np.flatnonzero((tools.rank > 0) & (np.arange(len(tools.rank)) != row))
    if not len(rivals) or not p.execution_signals:
        return None
    server, beta = int(tools.server_row[row]), float(tools.success[row])
    failure, posted_usd = float(servers.post_accept_failure[server]), float(servers.posted_price_usd[server])
    return headroom(
        similarity=float(tools.similarity[row]),
        fixed_s=float(servers.fixed_s[server]),
        latency_s=float(tools.latency_s[row]),
        success=beta / (1 - failure) if failure < 1 else 0.0,
        post_accept_failure=failure,
        price_usd=float(np.nan_to_num(tools.price_usd[row])),
        to_beat=float(tools.utility[rivals].max()),
        posted_usd=posted_usd if np.isfinite(posted_usd) else np.inf,
        alpha_t=p.alpha_t,
        kappa=p.kappa,
        eps=p.eps,
        per_attempt=p.billing == "per_attempt",
    )
