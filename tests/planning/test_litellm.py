"""litellm stays out of the way: not loaded before a model is asked, and talking to nobody but the endpoint."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WATCHED = """
import json, os, socket, sys
seen = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        seen.append(repr(arguments[1:] if event == "socket.connect" else arguments))
sys.addaudithook(watch)
from core.planning.rules import planners
planner = planners(os.environ)["model"]
before = "litellm" in sys.modules
said = planner.rewrite("q")
print(json.dumps({"before": before, "said": said, "seen": seen, "read": "WAYFARE_FROM_DOT_ENV" in os.environ}))
"""


def test_loading_and_asking_reaches_the_endpoint_alone_and_reads_no_dot_env(endpoint, tmp_path, key):
    endpoint.reactions = [endpoint.answer({"question": "list files"})]
    (tmp_path / ".env").write_text("WAYFARE_FROM_DOT_ENV=1\n")
    model = {"WAYFARE_LLM_MODEL": "small", "WAYFARE_LLM_BASE_URL": endpoint.url, "WAYFARE_LLM_API_KEY": key}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED],
        cwd=tmp_path,
        env={**os.environ, **model, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["before"], document["said"]) == (False, "list files")
    assert not document["read"]
    assert document["seen"]
    assert all("127.0.0.1" in address for address in document["seen"]), document["seen"]
    assert endpoint.asked[0].headers["authorization"] == f"Bearer {key}"
