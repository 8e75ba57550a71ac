"""Talking to MCP servers: kept sessions, tool calls, discovery."""
