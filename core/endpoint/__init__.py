"""The endpoint: any MCP client gets one server, Wayfare, in place of a hundred.

An agent searches (a recorded decision), reads definitions, executes (a recorded call that teaches) and reports (a label).
The room owns the protocol's side of that: the few tools and their texts, answers and errors that an agent can act on, results
that are cut and read on, the HTTP address `/mcp` and the stdio process that joins whoever has the store. It decides, calls and
learns through the services of `core.app` alone; what a tool of a stranger says passes through as data.

`endpoint.py` is the way of one request, `server.py` the protocol, `http_app.py` and `stdio.py` the two ways in. The next tool is
a file with an `AgentTool` and a line in `TOOLS` of `tools.py`.
"""
