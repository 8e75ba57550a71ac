"""What every server shares: how it is started, and the hints that its tools carry."""

import argparse

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
ADDS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
ENSURES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
OVERWRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)
BREAKS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False)


def serve(server: MCPServer) -> None:
    """Run `server` over stdio, or on http://127.0.0.1:PORT/mcp when started with `--http PORT`."""
    parser = argparse.ArgumentParser(description=server.description)
    parser.add_argument("--http", type=int, metavar="PORT", help="listen on 127.0.0.1 instead of speaking stdio")
    port = parser.parse_args().http
    if port is None:
        server.run()
    else:
        server.run("streamable-http", host="127.0.0.1", port=port, streamable_http_path="/mcp")
