"""Virtual MCP servers: any server of any catalog over real MCP, with simulated results that say so."""

SENTENCE = "Virtual server: real MCP, simulated results."
