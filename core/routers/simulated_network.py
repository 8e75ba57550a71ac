"""A routing context as a network profile would make it at a moment, for every router that uses time, success or latencies.

    L     = the EWMA of the server's last w = 10 latencies, the L of SONAR's network score        NetMCP (7)
    times = known time of a call or a connect + L
    pfail = 1 - (1 - known pfail) (1 - o),  o = the same EWMA of outages                          EHRR (8): an outage has fail = 1

The chance that an attempt succeeds, (1 - pfail) r, is then the known one times the share of time that the server is up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.domain.statistics import Source, Statistics
from core.network.score import recent_figures
from core.network.traces import TraceView
from core.routers.context import RoutingContext

WINDOW = 10


def under_network(context: RoutingContext, view: TraceView) -> RoutingContext:
    """The context whose times, failures and recent latencies are those of the traces, marked as simulated. The traces have the servers of
    the context, in its order."""
    latency_s, outage = recent_figures(view.recent_s(WINDOW))
    servers, tools = context.statistics.servers, context.statistics.tools
    simulated = np.full(len(latency_s), Source.SIMULATED, dtype=np.int8)
    of_servers = replace(
        servers,
        conn_s=servers.conn_s + latency_s,
        call_s=servers.call_s + latency_s,
        post_accept_failure=1.0 - (1.0 - servers.post_accept_failure) * (1.0 - outage),
        conn_source=simulated,
        call_source=simulated,
        failure_source=simulated,
    )
    of_tools = replace(
        tools,
        latency_s=tools.latency_s + latency_s[context.tool_server],
        latency_source=simulated[context.tool_server],
    )
    return replace(context, statistics=Statistics(of_servers, of_tools, context.statistics.version), network=view)
