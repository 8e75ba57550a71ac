"""What the page host sends to a browser: the newest message of each element, and how many of them a step changed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from playwright.sync_api import WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.visit import Visit

Place = tuple[int, ...]  # of an element on the page


@dataclass
class Messages:
    """Listens to a visit from before its page is opened. Only what draws something is counted."""

    visit: Visit
    newest: dict[Place, ForwardMsg] = field(default_factory=dict)
    sent: list[Place] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.visit.on("websocket", self._listen)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._heard)

    def _heard(self, frame: str | bytes) -> None:
        if isinstance(frame, str):
            return
        message = ForwardMsg()
        message.ParseFromString(frame)
        if message.WhichOneof("type") == "delta":
            place = tuple(message.metadata.delta_path)
            self.newest[place] = message
            self.sent.append(place)

    def bodies(self) -> dict[Place, bytes]:
        """What each element is drawn from, without where it stands."""
        return {place: message.delta.SerializeToString(deterministic=True) for place, message in self.newest.items()}

    def name(self, place: Place) -> str:
        """Which element stands there: its part of the page, its label, or its kind."""
        delta = self.newest[place].delta
        if delta.WhichOneof("type") != "new_element":
            return str(delta.WhichOneof("type"))
        kind = str(delta.new_element.WhichOneof("type"))
        element = getattr(delta.new_element, kind)
        if kind == "bidi_component":
            data = json.loads(element.json or "{}")
            return str(data.get("part") or element.component_name)
        return f"{kind} {getattr(element, 'label', '')}".strip()
