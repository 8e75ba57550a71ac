"""The types that every room shares: catalogs, parameters, decisions, outcomes, statistics, events. Frozen, without I/O.

Imports only `core.domain`. A new figure of a server or a tool in a decision is declared in `trace.py`. A new kind of event is a
dataclass in `events.py`. Its fields are the columns of the store.
"""
