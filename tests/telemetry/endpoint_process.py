"""A process with the endpoint over an app that its environment sets: prints its address, ends with its input."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from core.app import Settings, build_app
from core.relevance.encoder import CachedEncoder, EncoderSource
from core.store import Store
from tests.gateway.serving import served
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import FIGURES

BARE = str(Path(__file__).with_name("bare_server.py"))


def document() -> str:
    """A catalog of one server."""
    tools = [
        {"name": name, "description": f"Echo {name} words.", "price_usd": 0.002, "success": 0.9, "latency_s": 0.5}
        for name in ("meta", "fail")
    ]
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", BARE]}
    bare = {"name": "bare", "description": "Echo words.", "ask_usd": 0.001, "tools": tools, "connection": connection}
    return json.dumps({"servers": [{**bare, **FIGURES}]})


def main(db: Path) -> None:
    """Serve until the input ends."""
    store = Store(db)
    settings = Settings(db=db, cache=db.parent, seed=1, environment=os.environ, words_after_s=60.0)
    with build_app(store, settings, encoder=CachedEncoder(EncoderSource.of(WordEncoder()), store.vectors)) as app:
        import_text(app.catalog_editor, document(), "world")
        with served(app, "world") as url:
            loaded = sorted(name for name in list(sys.modules) if name.startswith("opentelemetry.sdk"))
            print(json.dumps({"url": f"{url}/mcp", "loaded": loaded}), flush=True)
            sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
