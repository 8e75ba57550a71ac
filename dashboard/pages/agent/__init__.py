"""The Agent page: a task in words, the steps of the agent that works on it, and the person who can step in."""
