"""Real calls, the agent loop, and requests of servers."""
