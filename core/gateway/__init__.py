"""The endpoint: an MCP client connects to one server, Wayfare, in place of a hundred.

An agent searches (a recorded decision), reads definitions, executes (a recorded call that updates the statistics) and
reports (a label). This room holds the protocol: the tools with their texts, answers and errors, results that are cut
and read on, the HTTP address `/mcp`, and the stdio process that joins the owner of the store. It decides, calls and
learns only through the services of `core.app`. Texts of a server's tool pass through as data.

`endpoint.py` handles one request, `server.py` speaks the protocol, `http_app.py` and `joining.py` are the two ways in.
A new tool is a file with an `AgentTool` and a line in `TOOLS` of `endpoint.py`.
"""
