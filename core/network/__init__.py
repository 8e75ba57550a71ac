"""The simulated network: states, profiles that assign them to servers, latency traces, faults, and SONAR's network score.

Latencies are in ms inside this room, as in NetMCP; traces are in seconds. A new state is a class in `states.py` and its name in
`STATES`; a new profile is a JSON file in `shipped/`.
"""

from core.network.states import Fluctuating, HighJitter, HighLatency, Ideal, Outage, PacketLoss, SlowStart, State

STATES: dict[str, type[State]] = {
    state.id: state for state in (Ideal, HighLatency, HighJitter, Fluctuating, Outage, PacketLoss, SlowStart)
}
