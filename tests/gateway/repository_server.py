"""A stdio server that keeps a working directory for its process, as servers of repositories do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

GIT = ["git", "-c", "user.name=A Tester", "-c", "user.email=tester@example.org", "-c", "commit.gpgsign=false"]
TOOLS = [
    {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}}
    for name in ("open", "commit", "pid", "environment", "end")
]

FOLDER = "repository://folder"
watched: list[str] = []


def done(name: str, arguments: dict[str, str]) -> str:
    """The text of a result."""
    match name:
        case "open":
            os.chdir(arguments["path"])
            if watched:
                changed = {"method": "notifications/resources/updated", "params": {"uri": FOLDER}}
                print(json.dumps({"jsonrpc": "2.0", **changed}), flush=True)
            return "opened"
        case "commit":
            subprocess.run([*GIT, "add", "-A"], check=True)
            subprocess.run([*GIT, "commit", "-qm", arguments["message"]], check=True)
            return str(Path.cwd())
        case "environment":
            return json.dumps(dict(os.environ))
        case "end":
            os._exit(1)
        case _:
            return f"{os.getpid()} in {Path.cwd()}"


def main() -> None:
    """Answer line by line."""
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        reply = {"jsonrpc": "2.0", "id": request["id"]}
        match request["method"]:
            case "initialize":
                able = {"tools": {}, "resources": {"subscribe": True}}
                info = {"capabilities": able, "serverInfo": {"name": "repository", "version": "1"}}
                reply["result"] = {"protocolVersion": "2025-06-18", **info}
            case "tools/list":
                reply["result"] = {"tools": TOOLS}
            case "tools/call":
                text = done(request["params"]["name"], request["params"].get("arguments") or {})
                reply["result"] = {"content": [{"type": "text", "text": text}]}
            case "resources/list":
                reply["result"] = {"resources": [{"uri": FOLDER, "name": "folder"}]}
            case "resources/read":
                reply["result"] = {"contents": [{"uri": FOLDER, "text": str(Path.cwd())}]}
            case "resources/subscribe":
                watched.append(FOLDER)
                reply["result"] = {}
            case _:
                reply["error"] = {"code": -32601, "message": "Method not found"}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
