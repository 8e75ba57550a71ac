"""Tools of servers in a client's list. A mirror lists all tools of the chosen servers, for clients that do not search. A client that
searches has the few tools that the operator has pinned, and a summary of the servers. Calls are handled like calls of `execute_tool`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import accumulate
from typing import Any, cast

import mcp_types
from mcp.shared.inbound import X_MCP_HEADER_KEY

from core.domain.catalog import Catalog, Server, Tool, ToolHints, first_sentence
from core.domain.errors import Refusal
from core.domain.tools import count_many, fits
from core.domain.untrusted_text import one_line
from core.gateway.base import Answer, EndpointOptions, Request, Services
from core.gateway.describe import MOST_NEAR, shown_description, shown_output_schema, shown_schema
from core.gateway.execute import execute_tool
from core.gateway.passing_on import READ_RESULT
from core.gateway.search import Offering
from core.governance.admission import Admission
from core.virtual.launch import hint_names

LONGEST = 64
"""The longest name that every client accepts."""
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
TITLE_CHARS = 200


def mirrored(services: Services, options: EndpointOptions, client: str) -> list[mcp_types.Tool]:
    admission, tools = services.app.governance.admission, _tools(services, options, client)
    allowed = {name: tool for name, tool in tools.items() if admission.allows(client, options.catalog, tool)}
    definitions = [as_listed(services, options, name, tool) for name, tool in allowed.items()]
    return [*definitions, READ_RESULT.definition]


def as_listed(services: Services, options: EndpointOptions, name: str, tool: Tool) -> mcp_types.Tool:
    """Returns a tool of a server as a client's list has it, under a name."""
    return mcp_types.Tool.model_validate(
        services.app.governance.definitions.extras(options.catalog, tool)
        | dict(
            name=name,
            title=one_line(tool.title, TITLE_CHARS) or None,
            description=shown_description(tool.description),
            inputSchema=_without_headers(shown_schema(tool)),
            annotations=hint_names(tool.hints),
            outputSchema=shown_output_schema(tool),
        )
    )


def _without_headers(schema: Any) -> Any:
    """Returns a schema without header requests to our clients. Our session with the server sends such headers itself.

    >>> _without_headers({"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}})
    {'properties': {'region': {'type': 'string'}}}
    """
    if isinstance(schema, Mapping):
        named = cast("Mapping[str, Any]", schema)
        marks = {name for name, part in named.items() if name == X_MCP_HEADER_KEY and isinstance(part, str)}
        return {name: _without_headers(part) for name, part in named.items() if name not in marks}
    return schema


async def call_mirrored(services: Services, request: Request) -> Answer:
    tools = _tools(services, request.options, request.client)
    tool = tools.get(request.tool)
    if tool is None:
        offering, last = Offering.of(services.app, request), request.tool.rpartition("__")[2]
        near = [name for name, tool in tools.items() if last in name and offering.names(tool)][:MOST_NEAR]
        hint = f"Did you mean {', '.join(near)}? " if near else ""
        raise Refusal(
            "unknown_tool",
            f"There is no tool {one_line(request.tool, 100)!r} in this mirror.",
            f"{hint}List the tools again: they may have changed.",
        )
    arguments: dict[str, Any] = {"tool": tool.id, "arguments": dict(request.arguments)}
    return await execute_tool(services, replace(request, arguments=arguments, mirrored=True), read_only=False)


def _tools(services: Services, options: EndpointOptions, client: str) -> dict[str, Tool]:
    """Returns the tools in the client's scope by their names, which depend on no other."""
    catalog, admission = services.app.catalogs.catalog(options.catalog), services.app.governance.admission
    servers = set(chosen(admission, client, catalog, options.mirror))
    candidates = (tool for tool in catalog.tools if tool.server in servers)
    in_scope = (tool for tool in candidates if not admission.outside(client, catalog.name, tool))
    return names(in_scope, reserved={READ_RESULT.definition.name})


def chosen(admission: Admission, client: str, catalog: Catalog, servers: Collection[str]) -> list[str]:
    """Returns the servers in the client's scope that match a pattern. Raises Refusal for a pattern without a match. A server that is
    switched off counts as a match."""
    scope = [entry for entry in (*catalog.servers, *catalog.off) if admission.sees_server(client, catalog.name, entry)]
    for pattern in servers:
        if not any(fnmatchcase(server.name, pattern) for server in scope):
            raise Refusal(
                "unknown_server",
                f"No server in catalog {catalog.name!r} that this client may use is called {one_line(pattern, 100)!r}.",
                "Change mirror= in the address of the endpoint.",
            )
    on = [server.name for server in scope if server.name in catalog.server_row]
    return [name for name in on if any(fnmatchcase(name, pattern) for pattern in servers)]


def names(tools: Iterable[Tool], *, reserved: Collection[str] = ()) -> dict[str, Tool]:
    """Returns tools by unique names: the tool's own name if no other tool has it, else the name with its server's, in
    characters that every client accepts.

    >>> tools = [Tool("files", "read"), Tool("mail", "read"), Tool("mail", "send it!"), Tool("a", "x" * 70)]
    >>> [*names(tools)][:3], [len(name) for name in names(tools)]
    (['files__read', 'mail__read', 'send_it_'], [11, 10, 8, 64])
    """
    tool_list = list(tools)
    plain_counts = Counter(_plain(tool.name) for tool in tool_list)
    wanted_names = [
        _plain(tool.name) if plain_counts[_plain(tool.name)] == 1 and _plain(tool.name) not in reserved
        else f"{_plain(tool.server)}__{_plain(tool.name)}"
        for tool in tool_list
    ]  # fmt: skip
    counts = Counter(wanted_names)
    return {
        name if counts[name] == 1 and 0 < len(name) <= LONGEST else _marked(name, tool): tool
        for name, tool in zip(wanted_names, tool_list, strict=True)
    }


def _plain(name: str) -> str:
    return NOT_IN_NAMES.sub("_", name)


def _marked(name: str, tool: Tool) -> str:
    mark = sha256(tool.id.encode()).hexdigest()[:8]
    return f"{name[: LONGEST - 9]}_{mark}"


SUMMARY_TOKENS, NAME_CHARS, WHY_CHARS = 200, 40, 160
SENTENCE_CHARS, ROOM_TOKENS = 80, 20


def pinned(services: Services, options: EndpointOptions, client: str, reserved: Collection[str]) -> dict[str, str]:
    """Returns the tools that are pinned for a client, as `execute_tool` takes them, by their names in its list. The names depend on no catalog."""
    admission = services.app.governance.admission
    places = [pin.tool.partition("/") for pin in services.app.governance.policy.pinned if pin.covers(client)]
    several = len(options.catalogs) > 1
    tools = {
        f"{catalog}/{id_}" if several else id_
        for catalog, _, id_ in places
        if catalog in options.catalogs and not admission.outside(client, catalog, _stub(id_))
    }
    return {name: tool.id for name, tool in names(map(_stub, sorted(tools)), reserved=reserved).items()}


def with_pinned(
    services: Services, options: EndpointOptions, client: str, own: list[mcp_types.Tool], pins: Mapping[str, str]
) -> list[mcp_types.Tool]:
    """Returns Wayfare's own tools, the first with the summary, and the pinned tools. A pinned tool that cannot be called now is left out,
    and the first tool's description says why."""
    app, tools, missing = services.app, list[mcp_types.Tool](), list[str]()
    for name, id_ in sorted(pins.items()):
        catalog, _, bare = id_.partition("/") if len(options.catalogs) > 1 else (options.catalog, "", id_)
        snapshot = app.catalogs.catalog(catalog)
        row = snapshot.tool_row.get(bare)
        tool = _stub(bare) if row is None else snapshot.tools[row]
        if app.governance.admission.outside(client, catalog, tool):
            continue
        if why := app.preflight.gone(f"{catalog}/{bare}", client):
            missing.append(f"{one_line(name, NAME_CHARS)} ({one_line(why, WHY_CHARS)})")
        else:
            tools.append(as_listed(services, replace(options, catalog=catalog, further=()), name, tool))
    lines = [own[0].description or "", summary(services, options, client)]
    lines += [f"Pinned, but left out for now: {', '.join(missing)}."] if missing else []
    return [own[0].model_copy(update={"description": "\n".join(lines)}), *own[1:], *tools]


def summary(services: Services, options: EndpointOptions, client: str) -> str:
    app, servers = services.app, list[tuple[int, Server]]()
    for name in options.catalogs:
        catalog = app.catalogs.catalog(name)
        rows = app.governance.admission.seen(client, catalog)
        visible_tools = catalog.tools if rows is None else [catalog.tools[int(row)] for row in rows]
        tools, errors = Counter(tool.server for tool in visible_tools), app.lint_reports.errors(name)
        silent = {tool.partition("::")[0] for tool in errors}
        servers += [
            (tools[server.name], replace(server, description="") if server.name in silent else server)
            for server in catalog.servers
            if server.name in tools
        ]
    return summarised([server for _, server in sorted(servers, key=lambda pair: (-pair[0], pair[1].name))])


def summarised(servers: Sequence[Server]) -> str:
    """Returns one line of at most `SUMMARY_TOKENS` tokens on servers: their names and purposes if there is room, else the number of each
    category, else the first names.

    >>> summarised([Server("files", "Read and write files. Fast."), Server("mail")])
    'Servers behind it (2): files (Read and write files.), mail'
    """
    labels = [one_line(server.name, NAME_CHARS) for server in servers]
    words = (one_line(first_sentence(server.description), SENTENCE_CHARS) for server in servers)
    kinds = Counter(one_line(server.category, NAME_CHARS) for server in servers)
    levels = [[f"{name} ({purpose})" if purpose else name for name, purpose in zip(labels, words, strict=True)], labels]
    levels += [[f"{count} {kind}" for kind, count in kinds.most_common()]] if "" not in kinds else []
    head = f"Servers behind it ({len(servers)}): "
    for parts in levels:
        if fits(line := f"{head}{', '.join(parts)}", SUMMARY_TOKENS):
            return line
    tokens = accumulate(count_many([f"{name}, " for name in labels[:SUMMARY_TOKENS]]))
    first = labels[: sum(total <= SUMMARY_TOKENS - ROOM_TOKENS for total in tokens)]
    return f"{head}{', '.join(first)} and {len(servers) - len(first)} more"


def _stub(id_: str) -> Tool:
    server, _, name = id_.partition("::")
    return Tool(server, name, hints=ToolHints(read_only=True))
