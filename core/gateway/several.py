"""Several catalogs behind one address. A search asks each catalog, and a tool is written `catalog/server::tool`.

Each catalog decides by itself, with its own statistics, policy and log. A request about one tool goes to its catalog. Example requests are written for the first catalog.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import anyio.to_thread

from core.app import App
from core.domain.catalog import Tool
from core.domain.errors import Refusal, WayfareError
from core.domain.untrusted_text import visible
from core.gateway.base import Answer, Request, answer
from core.gateway.improve import IMPROVING
from core.gateway.search import LEFT_OUT_TOKENS, MOST_TOKENS, fitting
from core.governance.governed_calls import ToolCheck

JOINED = "+"
SUREST = ("sure", "unsure", "nothing")
Run = Callable[[Request], Awaitable[Answer]]


class Route(NamedTuple):
    catalog: str
    id: str


def split_route(text: str, catalogs: Sequence[str]) -> tuple[Route, ...]:
    """Returns the searches of a joined route id; catalogs that are not served are left out.

    >>> split_route("work/d2+home/d1", ("home", "work"))
    (Route(catalog='work', id='d2'), Route(catalog='home', id='d1'))
    """
    pieces = (route.rpartition("/") for route in text.split(JOINED))
    return tuple(Route(catalog, id_) for catalog, _, id_ in pieces if catalog in catalogs)


def merged(lists: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Returns the candidates of several lists. Each list keeps its order; the head with the greatest
    P(fit) x P(success) comes next, which is comparable across catalogs, unlike a similarity.

    >>> row = lambda tool, fit: {"tool": tool, "fit": fit, "success": 1.0}
    >>> [tool["tool"] for tool in merged([[row("a", 0.5), row("b", 0.9)], [row("c", 0.6), row("d", None)]])]
    ['c', 'a', 'b', 'd']
    """
    queues = [list(entries) for entries in lists]
    order: list[dict[str, Any]] = []
    while any(queues):
        best = max(filter(None, queues), key=lambda queue: (queue[0]["fit"] or 0.0) * (queue[0]["success"] or 0.0))
        order.append(best.pop(0))
    return order


@dataclass(frozen=True, slots=True)
class Several:
    """One request to several catalogs. `run` admits and answers a request to one catalog."""

    app: App
    request: Request
    run: Run

    async def answered(self) -> Answer:
        arguments = self.request.arguments
        if self.request.tool in IMPROVING:
            return await self._run(self.request.options.catalog, arguments)
        if self.request.tool == "search_tools":
            return await self._searched()
        if self.request.tool == "describe_tool" and isinstance(arguments.get("tools"), list):
            return await self._described([str(name) for name in arguments["tools"]])
        if isinstance(arguments.get("tool"), str):
            return await self._called(arguments["tool"])
        if self.request.tool == "report_outcome" and isinstance(arguments.get("route_id"), str):
            return await self._reported(arguments["route_id"])
        catalogs, admission = self.request.options.catalogs, self.app.governance.admission
        client = self._sender.client
        allowed = (catalog for catalog in catalogs if admission.may_enter(client, catalog))
        return await self._run(next(allowed, catalogs[0]), arguments)  # a handle belongs to no catalog

    async def _run(self, catalog: str, arguments: Any) -> Answer:
        options = replace(self.request.options, catalog=catalog, further=())
        try:
            return await self.run(replace(self.request, options=options, arguments=arguments))
        except Refusal as refusal:
            raise Refusal(refusal.error, f"Catalog {catalog!r}: {refusal.why}", refusal.advice) from refusal

    async def _searched(self) -> Answer:
        catalogs = self.request.options.catalogs
        searches = [self._run(catalog, self.request.arguments) for catalog in catalogs]
        results = dict(zip(catalogs, await asyncio.gather(*searches, return_exceptions=True), strict=True))
        documents: dict[str, dict[str, Any]] = {}
        errors: list[Exception] = []
        for catalog, result in results.items():
            if isinstance(result, Answer):
                documents[catalog] = _document(result)
            elif isinstance(result, WayfareError):
                errors.append(result)
            else:
                raise result
        if not documents:
            raise errors[0]
        lists = [
            [{**candidate, "tool": f"{catalog}/{candidate['tool']}"} for candidate in document["candidates"]]
            for catalog, document in documents.items()
        ]
        candidates = merged(lists)
        most = self.request.arguments.get("n")
        selection = fitting(candidates, MOST_TOKENS - LEFT_OUT_TOKENS) if most is None else candidates[: int(most)]
        names = [candidate["tool"] for candidate in selection]
        firsts = (catalog for name in names for catalog in documents if name.startswith(f"{catalog}/"))
        order = dict.fromkeys([*firsts, *documents])
        notes = [f"Catalog {catalog}: {document['left_out']}" for catalog, document in documents.items()]
        return answer(
            {
                "route_id": JOINED.join(f"{catalog}/{documents[catalog]['route_id']}" for catalog in order),
                "confidence": min((document["confidence"] for document in documents.values()), key=SUREST.index),
                "candidates": selection,
                "left_out": " ".join([*notes, *(visible(str(error)) for error in errors)]),
            }
        )

    async def _described(self, names: Sequence[str]) -> Answer:
        tools: list[dict[str, Any]] = []
        for name in dict.fromkeys(names):
            try:
                catalog, bare = await anyio.to_thread.run_sync(self._place, name)
            except Refusal as error:
                if not self.request.arguments.get("check"):
                    raise
                tools.append(ToolCheck(name, why=(str(error),)).to_json())
                continue
            document = _document(await self._run(catalog, {**self.request.arguments, "tools": [bare]}))
            tools += [{**tool, "tool": f"{catalog}/{tool['tool']}"} for tool in document["tools"]]
        return answer({"tools": tools})

    async def _called(self, name: str) -> Answer:
        catalog, bare = await anyio.to_thread.run_sync(self._place, name)
        arguments = {**self.request.arguments, "tool": bare}
        routes = dict(split_route(str(arguments.get("route_id", "")), self.request.options.catalogs))
        if catalog in routes:
            arguments["route_id"] = routes[catalog]
        elif routes:  # that search had nothing in this catalog
            del arguments["route_id"]
        result = await self._run(catalog, arguments)
        if self.request.mirrored:
            return result
        document = _document(result)
        if "tool" in document:
            document["tool"] = f"{catalog}/{document['tool']}"
        return result.model_copy(update={"structured_content": document})

    async def _reported(self, route_id: str) -> Answer:
        routes = split_route(route_id, self.request.options.catalogs)
        if not routes:
            return await self._run(self.request.options.catalog, self.request.arguments)
        route = await anyio.to_thread.run_sync(self._last_used, routes)
        result = await self._run(route.catalog, {**self.request.arguments, "route_id": route.id})
        document = {**_document(result), "route_id": route_id}
        document["tool"] = f"{route.catalog}/{document['tool']}"
        return answer(document)

    @property
    def _sender(self) -> Request:
        """Returns the request with the name under which it counts. Raises Refusal."""
        request, admission = self.request, self.app.governance.admission
        client = admission.identified(request.client, known=request.known)
        return replace(request, client=client, names=admission.names(client, request.announced, known=request.known))

    def _last_used(self, routes: Sequence[Route]) -> Route:
        """Returns the search under which the client called a tool, or the first one; blocks."""
        store = self.app.store
        store.events.flush()
        calls = ((route, store.activity.decision_outcomes(route.id)) for route in routes)
        used_routes = [route for route, outcomes in calls if any(self._sender.sent(call.client) for call in outcomes)]
        return (used_routes or list(routes))[0]

    def _place(self, name: str) -> tuple[str, str]:
        """Returns the catalog of a tool and its name there; blocks. A name without a catalog is accepted if exactly one catalog
        has it among the tools of this client. Raises Refusal."""
        catalogs = self.request.options.catalogs
        for catalog in catalogs:
            if name.startswith(f"{catalog}/"):
                return catalog, name.removeprefix(f"{catalog}/")
        admission, hits = self.app.governance.admission, list[str]()
        for catalog in catalogs:
            snapshot = self.app.catalogs.catalog(catalog)
            row = snapshot.tool_row.get(name)
            tool: Tool | None = None if row is None else snapshot.tools[row]
            if tool is not None and admission.allows(self._sender.client, catalog, tool):
                hits.append(catalog)
        if len(hits) == 1:
            return hits[0], name
        why = f"More than one catalog has {name!r}." if hits else f"{name!r} names no tool of {' or '.join(catalogs)}."
        raise Refusal("unknown_tool", visible(why), "Write catalog/server::tool as search_tools gives it.")


def _document(result: Answer) -> dict[str, Any]:
    return dict(result.structured_content or {})
