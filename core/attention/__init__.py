"""Tool Attention around its router: summaries, the schema loader, the gate after the model, and its events.

Imports what the layers below routers offer; the router itself is `core.routers.tool_attention`.
"""
