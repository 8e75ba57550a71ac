"""What a client that searches gets beside Wayfare's own tools: the few that the operator has pinned, and a summary of the servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

import mcp_types

from core.domain.catalog import Server, Tool, ToolHints, first_sentence
from core.domain.tools import count_many, fits
from core.domain.untrusted_text import one_line
from core.gateway.base import EndpointOptions, Services
from core.gateway.mirror import as_listed, names

SUMMARY_TOKENS, NAME_CHARS, WHY_CHARS = 200, 40, 160
SENTENCE_CHARS, ROOM_TOKENS = 80, 20


def pinned(services: Services, options: EndpointOptions, client: str, reserved: Collection[str]) -> dict[str, str]:
    """Returns the tools that are pinned for a client, as `execute_tool` takes them, by their names in its list. These depend on no catalog."""
    places = [one.tool.partition("/") for one in services.app.governance.policy.pinned if one.covers(client)]
    several = len(options.catalogs) > 1
    tools = {f"{catalog}/{id_}" if several else id_ for catalog, _, id_ in places if catalog in options.catalogs}
    return {name: tool.id for name, tool in names(map(_stub, sorted(tools)), reserved=reserved).items()}


def with_pinned(
    services: Services, options: EndpointOptions, client: str, own: list[mcp_types.Tool], pins: Mapping[str, str]
) -> list[mcp_types.Tool]:
    """Returns Wayfare's own tools, the first with the summary, and the pinned ones. A pinned tool that cannot be called now is left out,
    and the first says why."""
    app, shown, missing = services.app, list[mcp_types.Tool](), list[str]()
    for name, id_ in sorted(pins.items()):
        catalog, _, bare = id_.partition("/") if len(options.catalogs) > 1 else (options.catalog, "", id_)
        opened = app.catalogs.catalog(catalog)
        row = opened.tool_row.get(bare)
        tool = _stub(bare) if row is None else opened.tools[row]
        if app.governance.admission.outside(client, catalog, tool):
            continue
        if why := app.preflight.gone(f"{catalog}/{bare}", client):
            missing.append(f"{one_line(name, NAME_CHARS)} ({one_line(why, WHY_CHARS)})")
        else:
            shown.append(as_listed(services, replace(options, catalog=catalog, further=()), name, tool))
    said = [own[0].description or "", summary(services, options, client)]
    said += [f"Pinned, but left out for now: {', '.join(missing)}."] if missing else []
    return [own[0].model_copy(update={"description": "\n".join(said)}), *own[1:], *shown]


def summary(services: Services, options: EndpointOptions, client: str) -> str:
    """Returns the summary of the servers that a client may use. A server in which Lint finds an error has no words."""
    app, servers = services.app, list[tuple[int, Server]]()
    for name in options.catalogs:
        catalog = app.catalogs.catalog(name)
        rows = app.governance.admission.seen(client, catalog)
        seen = catalog.tools if rows is None else [catalog.tools[int(row)] for row in rows]
        tools, marked = Counter(tool.server for tool in seen), app.lint_reports.errors(name)
        silent = {tool.partition("::")[0] for tool in marked}
        servers += [
            (tools[one.name], replace(one, description="") if one.name in silent else one)
            for one in catalog.servers
            if one.name in tools
        ]
    return summarised([server for _, server in sorted(servers, key=lambda one: (-one[0], one[1].name))])


def summarised(servers: Sequence[Server]) -> str:
    """Returns one line of at most `SUMMARY_TOKENS` tokens on servers: their names and own words if there is room, else how many there are of
    each category, else the first names.

    >>> summarised([Server("files", "Read and write files. Fast."), Server("mail")])
    'Servers behind it (2): files (Read and write files.), mail'
    """
    known = [one_line(one.name, NAME_CHARS) for one in servers]
    words = (one_line(first_sentence(one.description), SENTENCE_CHARS) for one in servers)
    kinds = Counter(one_line(one.category, NAME_CHARS) for one in servers)
    levels = [[f"{name} ({said})" if said else name for name, said in zip(known, words, strict=True)], known]
    levels += [[f"{count} {kind}" for kind, count in kinds.most_common()]] if "" not in kinds else []
    head = f"Servers behind it ({len(servers)}): "
    for parts in levels:
        if fits(line := f"{head}{', '.join(parts)}", SUMMARY_TOKENS):
            return line
    tokens = accumulate(count_many([f"{name}, " for name in known[:SUMMARY_TOKENS]]))
    kept = known[: sum(one <= SUMMARY_TOKENS - ROOM_TOKENS for one in tokens)]
    return f"{head}{', '.join(kept)} and {len(servers) - len(kept)} more"


def _stub(id_: str) -> Tool:
    server, _, name = id_.partition("::")
    return Tool(server, name, hints=ToolHints(read_only=True))
