"""Virtual MCP servers: any server of any catalog over real MCP, with simulated results that say so.

`server.py` serves the definitions, `responses.py` makes a result from a tool's schema (`schema_*.py`), `failure_model.py` decides
how long a call takes and whether it fails, `multiply.py` copies a server in other words. A virtual server is a process of its
own, so the room imports `core.domain`, `core.importers` and `core.shared` alone and nothing slow. A new behaviour is an entry of
`PROFILES`; a new kind of value is a line in `field_names.py` or `schema_texts.py`.
"""

SENTENCE = "Virtual server: real MCP, simulated results."
