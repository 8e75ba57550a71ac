"""The Agent page: a task that is typed, the loop that works on it, and the person beside it."""
