"""The interface through which tools are called (`base.ToolCaller`), and outcomes that are drawn instead of called (`simulated.py`).

The room imports `core.domain` alone. Another way of calling is a class with `call`, such as `core.mcp_bridge.caller.McpCaller`;
`core.app` chooses it.
"""
