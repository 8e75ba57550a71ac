"""Virtual MCP servers: any server of any catalog over real MCP, with simulated results that say so.

`server.py` serves the definitions and results, `schema_values.py` makes a value for a schema, `sample_values.py` draws texts and numbers
and guesses a missing schema, `launch.py` has the profiles of behaviour, the failure model, the connection and recorded answers,
`multiply.py` copies a server in other words. A virtual server is a process of its own, so the room imports nothing slow. A new
behaviour is an entry of `PROFILES`; a new kind of value is a line in `sample_values.py` or in `FORMATS` of `schema_values.py`.
"""

SENTENCE = "Virtual server: real MCP, simulated results."
