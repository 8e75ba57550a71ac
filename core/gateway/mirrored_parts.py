"""Resources, templates, prompts and completion of mirrored servers. The server that owns an item answers the request.

Prompts are named as mirrored tools are. A URI is read from the first server by name that lists it, else from the first
with a matching template, else from the first that returns it: results of tools may link to unlisted URIs.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from anyio.from_thread import check_cancelled
from cachetools import TTLCache
from mcp import MCPError
from mcp.shared.uri_template import InvalidUriTemplate, UriTemplate

from core.domain.catalog import ServerId, Tool, ToolHints
from core.domain.errors import Refusal, WayfareError
from core.domain.execution import ITEMS, PROMPTS, RESOURCES, TEMPLATES, SessionOwner
from core.domain.tools import count_tokens
from core.domain.untrusted_text import one_line, visible
from core.gateway.base import EndpointOptions, PartRequest, Services, compact
from core.gateway.describe import shown_description, small
from core.gateway.mirror import chosen, names
from core.gateway.passing_on import MOST_BINARY_CHARS, beside, servers_own, text_of
from core.governance.governed_calls import READ
from core.governance.sanitising import sanitised_part

_log = logging.getLogger(__name__)
LIST_S = 10.0
"""Time limit of a list. A server that does not answer is left out."""
KEPT_S, MOST_LISTS = 60.0, 256
NAME_CHARS = 200
RESULTS: dict[str, type[Any]] = {
    RESOURCES: mcp_types.ListResourcesResult,
    TEMPLATES: mcp_types.ListResourceTemplatesResult,
    PROMPTS: mcp_types.ListPromptsResult,
}
GET, COMPLETE = "prompts/get", "completion/complete"
NEEDED = {RESOURCES: READ, TEMPLATES: READ, PROMPTS: GET}
"""The permission that a list needs. A client sees only resources that it may read."""
NOT_THERE = {
    mcp_types.INVALID_PARAMS,
    mcp_types.METHOD_NOT_FOUND,
    -32002,
}  # the last is the code for resources up to 2025-11-25
Lists = dict[str, list[Any]]
ServerList = tuple[ServerId, str]


@dataclass
class MirroredParts:
    """Serves any number of clients. Lists are cached for a minute, to find the owner of a name."""

    services: Services
    _kept: TTLCache[ServerList, list[Any]] = field(
        default_factory=lambda: TTLCache[ServerList, list[Any]](MOST_LISTS, KEPT_S), init=False
    )

    async def answer(self, request: PartRequest) -> Any:
        """Returns the lists of all servers, or the owner's answer. Raises MCPError, WayfareError."""
        request = self._entered(request)
        if request.method in RESULTS:
            lists = await self.lists(request.options, request.client, request.method, fresh=True)
            return RESULTS[request.method](
                **{ITEMS[request.method]: _of_all(request.method, lists)}, ttl_ms=int(KEPT_S * 1000), cache_scope="private"
            )  # fmt: skip
        params: Any = request.params
        ref = getattr(params, "ref", params)
        if isinstance(ref, mcp_types.GetPromptRequestParams | mcp_types.PromptReference):
            tool = await self._prompt(request, ref.name)
            update = {"name": tool.name}
            new_ref = ref.model_copy(update=update)
            params = new_ref if ref is params else params.model_copy(update={"ref": new_ref})
            return await _in_thread(partial(self._sent, replace(request, params=params), tool.server))
        error: MCPError | None = None
        for server in await self._owners(request, str(ref.uri)):
            try:
                return await _in_thread(partial(self._sent, request, server))
            except MCPError as failure:
                error = error or failure
                if failure.code not in NOT_THERE:
                    break
        message = f"No server here has {one_line(str(ref.uri), NAME_CHARS)}."
        raise error or MCPError(mcp_types.INVALID_PARAMS, message, {"uri": str(ref.uri)})

    def forget(self, catalog: str) -> None:
        for key in [pair for pair in self._kept if pair[0].catalog == catalog]:
            self._kept.pop(key, None)

    async def lists(self, options: EndpointOptions, client: str, method: str, *, fresh: bool) -> Lists:
        """Returns each chosen server's list, as far as the client may use it, by server in order of name. Raises
        Refusal, WayfareError."""
        catalog = await anyio.to_thread.run_sync(self.services.app.catalogs.catalog, options.catalog)
        admission, lists = self.services.app.governance.admission, dict[str, list[Any]]()
        servers = sorted(chosen(admission, client, catalog, options.mirror))
        servers = [key for key in servers if admission.may_request(client, catalog.name, _request(key, NEEDED[method]))]
        async with anyio.create_task_group() as tasks:
            tasks.cancel_scope.deadline = anyio.current_time() + LIST_S
            for server in servers:
                tasks.start_soon(self._list, ServerId(catalog.name, server), method, fresh, lists)
        return {server: lists[server] for server in servers if lists.get(server)}

    async def _list(self, server: ServerId, method: str, fresh: bool, lists: Lists) -> None:
        items = None if fresh else self._kept.get((server, method))
        if items is None:
            try:
                items = await _in_thread(
                    partial(self.services.app.server_requests.list, server, method, limit_s=LIST_S)
                )
            except (MCPError, WayfareError) as error:
                _log.info("%s of %s: %s", method, server.server, error)
                return
            self._kept[server, method] = items
        lists[server.server] = items

    async def subscribed(self, request: PartRequest, uri: str) -> ServerId:
        """Subscribes to a resource at the server that has it. Raises MCPError, WayfareError."""
        request, catalog = self._entered(request), request.options.catalog
        error: Exception | None = None
        for server in await self._owners(request, uri, listed=True):
            id_ = ServerId(catalog, server)
            allow = partial(self.services.app.governance.request, request.client, catalog, _request(server, READ))
            await _in_thread(allow)
            try:
                await self.subscribe(id_, uri, request.owner, wanted=True)
                return id_
            except MCPError as failure:
                error = error or failure
        raise error or MCPError(mcp_types.INVALID_PARAMS, f"No server here has {one_line(uri, NAME_CHARS)}.")

    def _entered(self, request: PartRequest) -> PartRequest:
        admission = self.services.app.governance.admission
        return replace(request, client=admission.enter(request.client, request.options.catalog, known=request.known))

    def may_read(self, request: PartRequest, server: str) -> bool:
        admission = self.services.app.governance.admission
        with suppress(Refusal):
            client = admission.identified(request.client, known=request.known)
            return admission.may_request(client, request.options.catalog, _request(server, READ))
        return False

    async def subscribe(self, server: ServerId, uri: str, owner: SessionOwner, *, wanted: bool) -> None:
        requests = self.services.app.server_requests
        await _in_thread(partial(requests.subscribe, server, uri, owner, wanted=wanted, limit_s=LIST_S))

    def lost(self, owner: SessionOwner, server: ServerId, uri: str) -> bool:
        """Whether a subscription has lost its session with a server that is still in its catalog."""
        try:
            return not self.services.app.server_requests.hears(server, uri, owner)
        except WayfareError:
            return False

    async def _prompt(self, request: PartRequest, name: str) -> Tool:
        for fresh in (False, True):
            tools = prompts(await self.lists(request.options, request.client, PROMPTS, fresh=fresh))
            if name in tools:
                return tools[name]
        raise MCPError(mcp_types.INVALID_PARAMS, f"There is no prompt {one_line(name, NAME_CHARS)!r} here.")

    async def _owners(self, request: PartRequest, uri: str, *, listed: bool = False) -> list[str]:
        """Returns the server that lists a URI or a matching template, else all servers that might have it, or with `listed` none."""
        for fresh in (False, True):  # the first are perhaps another client's, of a server to which each person signs in
            resources = await self.lists(request.options, request.client, RESOURCES, fresh=fresh)
            for server, items in resources.items():
                if any(str(resource.uri) == uri for resource in items):
                    return [server]
            templates = await self.lists(request.options, request.client, TEMPLATES, fresh=fresh)
            for server, items in templates.items():
                if any(uri == template.uri_template or fits_template(uri, template.uri_template) for template in items):
                    return [server]
            if not listed:
                return sorted({*resources, *templates})
        return []

    def _sent(self, request: PartRequest, server: str) -> Any:
        """Returns the server's answer; blocks. A client that has given up costs no tokens. Raises MCPError, WayfareError."""
        app, options, id_ = self.services.app, request.options, ServerId(request.options.catalog, server)
        app.governance.request(request.client, options.catalog, _request(server, request.method))
        check_cancelled()
        answer = app.server_requests.send(id_, request.method, request.params, limit_s=options.timeout_s)
        answer = sanitised_part(answer, app.governance.policy.sanitising(server))
        texts, size = _texts(answer)
        if meta := servers_own(getattr(answer, "meta", None)):
            texts += compact(meta)
        if size > MOST_BINARY_CHARS:
            raise MCPError(
                mcp_types.INTERNAL_ERROR, f"{size:,} characters; at most {MOST_BINARY_CHARS:,} are passed on."
            )
        tokens = count_tokens(texts) if texts else 0
        check_cancelled()
        if tokens:
            app.governance.read_on(request.client, id_, tokens, whole=True)
        return answer


def prompts(lists: Mapping[str, Iterable[Any]]) -> dict[str, Tool]:
    return names(Tool(server, prompt.name) for server, items in lists.items() for prompt in items)


def fits_template(uri: str, template: str) -> bool:
    """Whether a URI matches a template (RFC 6570). A template that the SDK cannot read matches nothing.

    >>> fits_template("db://t/7/row", "db://t/{id}/row"), fits_template("db://t/7/8", "db://t/{id}"), fits_template("f:///a/b", "f:///{+path}")
    (True, False, True)
    """
    try:
        return UriTemplate.parse(template).match(uri) is not None
    except InvalidUriTemplate:
        return False


def _of_all(method: str, lists: Lists) -> list[Any]:
    """Returns one list. If two servers have the same URI, the first by name wins; prompts have unique names. Texts come
    without invisible characters."""
    if method == PROMPTS:
        aliases = {tool.id: name for name, tool in prompts(lists).items()}
        items = {aliases[f"{server}::{prompt.name}"]: prompt for server, listing in lists.items() for prompt in listing}
        return [_shown(prompt, name=name) for name, prompt in items.items()]
    owners: dict[str, tuple[str, Any]] = {}
    for server, listing in lists.items():
        for item in listing:
            uri = str(item.uri if method == RESOURCES else item.uri_template)
            owner, _ = owners.setdefault(uri, (server, item))
            if owner != server:
                _log.warning("%s is listed by %s and by %s: the mirror gives the former's", uri, owner, server)
    return [_shown(item) for _, item in owners.values()]


def _shown(item: Any, **overrides: Any) -> Any:
    texts = {"title": one_line(item.title or "", NAME_CHARS), "description": shown_description(item.description or "")}
    update = {
        **{name: text or None for name, text in texts.items()},
        "icons": small(item.icons),
        "meta": small(item.meta),
    }
    if isinstance(item, mcp_types.Prompt) and item.arguments:
        texts_of = {arg.name: shown_description(arg.description or "") or None for arg in item.arguments}
        update["arguments"] = [arg.model_copy(update={"description": texts_of[arg.name]}) for arg in item.arguments]
    return item.model_copy(update={**update, **overrides})


def _request(server: str, method: str) -> Tool:
    """Returns a request as governance sees it: a read-only tool of the server."""
    return Tool(server, method, hints=ToolHints(read_only=True))


def _texts(answer: Any) -> tuple[str, int]:
    """Returns the text that a client gets, and the number of characters including binary data."""
    if isinstance(answer, mcp_types.ReadResourceResult):
        texts = [item.text for item in answer.contents if isinstance(item, mcp_types.TextResourceContents)]
        texts += [compact(item.meta) for item in answer.contents if item.meta]
        blobs = sum(len(item.blob) for item in answer.contents if isinstance(item, mcp_types.BlobResourceContents))
        return "\n".join(texts), sum(map(len, texts)) + blobs
    if isinstance(answer, mcp_types.GetPromptResult):
        content = [message.content for message in answer.messages]
        others = [compact(extra) for block in content if (extra := beside(block))]
        return "\n".join(filter(None, [text_of(content), *others, answer.description])), sum(
            len(block.model_dump_json()) for block in content
        )
    if isinstance(answer, mcp_types.CompleteResult):
        text = "\n".join(answer.completion.values)
        return text, len(text)
    return "", 0


async def _in_thread(work: Callable[[], Any]) -> Any:
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)


@contextmanager
def errors_of_the_protocol() -> Generator[None]:
    """Raises MCPError for other errors of the block."""
    try:
        yield
    except MCPError:
        raise
    except Refusal as error:
        data = {"error": error.error, "try": visible(error.advice)}
        raise MCPError(mcp_types.INVALID_REQUEST, visible(error.why), data) from error
    except WayfareError as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, visible(str(error))) from error
