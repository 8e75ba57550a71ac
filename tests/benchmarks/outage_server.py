"""A stdio server without any library that is down while a file says so, for `tests.benchmarks.outages`.

`gone` in the file: it does not start. `hangs`: it starts, and its tool never answers. Its tool takes `seconds`, and whether it
succeeds depends on the number of the call alone, so that compared settings meet the same luck.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path


def main(folder: Path, success: float, seconds: float, seed: str) -> None:
    """Answer line by line."""
    state = folder / "state"
    if state.read_text() == "gone":
        sys.exit(1)
    (folder / "pid").write_text(str(os.getpid()))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        match request["method"]:
            case "initialize":
                info = {"name": "outage", "version": "1"}
                reply["result"] = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                reply["result"] = {"tools": [{"name": "convert_currency", "inputSchema": {"type": "object"}}]}
            case "tools/call" if state.read_text() == "hangs":
                continue
            case "tools/call":
                time.sleep(seconds)
                number = request["params"]["arguments"]["number"]
                lost = random.Random(f"{seed} {number}").random() >= success
                reply["result"] = {"content": [{"type": "text", "text": "done"}], "isError": lost}
            case _:
                reply["error"] = {"code": -32601, "message": "no"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4])
