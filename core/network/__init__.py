"""The network: states, profiles that give them to servers, latency traces, and SONAR's network score.

Latencies are in ms inside this room, as in NetMCP; what others get is in seconds. A new state is a file and a line here.
"""

from core.network.base import State
from core.network.fluctuating import Fluctuating
from core.network.high_jitter import HighJitter
from core.network.high_latency import HighLatency
from core.network.ideal import Ideal
from core.network.outage import Outage
from core.network.packet_loss import PacketLoss
from core.network.slow_start import SlowStart

STATES: dict[str, type[State]] = {
    state.id: state for state in (Ideal, HighLatency, HighJitter, Fluctuating, Outage, PacketLoss, SlowStart)
}
