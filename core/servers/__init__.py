"""MCP clients: a pool of sessions, tool calls over it, discovery of tools, and the secrets that connections refer to.

Start with `pool.py` (sessions by server and connection) and `caller.py` (a call in, an `Outcome` out). The room imports
`core.domain` and `core.network`; the SDK's types stay inside it (`results.py` translates them). A new transport is a
function in `transports.py`; a new kind of failure is an error in `threads.py`.
"""
