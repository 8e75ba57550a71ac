"""Services: what pages, commands and the MCP endpoint call. Verbs of the domain over one store, each a class with its state.

May import everything of core but `app`, `cli` and `gateway`; nothing here reads the environment, the clock or a random number
that was not passed in. A new service is a new file here, built by a property of `core.app.App`.
"""
