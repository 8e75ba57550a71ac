"""`python -m core.virtual FILE [SERVER]`: one server of a plain catalog over real MCP, with simulated results, or recorded ones."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from core.domain.errors import WayfareError
from core.importers import read_files
from core.virtual.launch import DEFAULT_PROFILE, PROFILES, chosen, opened_recording
from core.virtual.server import Behaviour, serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until the client leaves. Returns 2, after one sentence on standard error, for bad input."""
    options = _parser().parse_args(arguments)
    try:
        server = chosen(read_files([options.file]).servers, options.server)
        recording = opened_recording(options.file, server.name, options.speed)
        serve(server, Behaviour(options.profile, options.seed, options.speed, recording), options.http)
    except WayfareError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m core.virtual", description=__doc__)
    parser.add_argument("file", metavar="FILE", type=Path, help="a catalog, or a recording")
    parser.add_argument("server", metavar="SERVER", nargs="?", help="the server's name, if the catalog has several")
    parser.add_argument("--http", type=int, metavar="PORT", help="listen on 127.0.0.1 instead of speaking stdio")
    profiles = "; ".join(f"{name}: {profile.help}" for name, profile in PROFILES.items())
    parser.add_argument("--profile", choices=PROFILES, default=DEFAULT_PROFILE, help=profiles)
    parser.add_argument("--seed", type=int, help="makes results and failures repeatable")
    parser.add_argument("--speed", type=float, default=1.0, help="factor on every wait: 1 is real time, 0 never waits")
    return parser


if __name__ == "__main__":
    sys.exit(main())
