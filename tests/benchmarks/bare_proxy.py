"""The floor for a proxy between a client and a server: the SDK's server in front of the SDK's client."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import mcp_types
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send


async def main(target: str, port: int) -> None:
    """Serves the target on the port. A target is an address, or a command line as a JSON list."""
    command = json.loads(target) if target.startswith("[") else None
    parameters = StdioServerParameters(command=command[0], args=command[1:]) if command else target
    async with Client(parameters) as client:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

        async def listed(_: Any, __: Any) -> mcp_types.ListToolsResult:
            return await client.list_tools()

        async def called(_: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
            return await client.call_tool(params.name, params.arguments or {})

        server = Server[Any](
            "bare", version="1", get_tool_input_schema=schemas.get, on_list_tools=listed, on_call_tool=called
        )
        manager = StreamableHTTPSessionManager(server)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await manager.handle_request(scope, receive, send)

        async with manager.run():
            await uvicorn.Server(uvicorn.Config(app, port=port, log_level="warning", lifespan="off")).serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
