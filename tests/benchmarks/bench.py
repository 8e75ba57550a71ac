"""`make bench`: what Wayfare's speed is on this machine. Prints, asserts nothing."""

from __future__ import annotations

import os
import platform
import sys

from tests.benchmarks import browsing, calling, deciding

SECTIONS = {
    "embedding": deciding.embedding,
    "decisions": deciding.decisions,
    "stdio": calling.stdio,
    "http": calling.http,
    "slider": browsing.slider,
    "starts": browsing.starts,
}


def main() -> None:
    """Run all sections, or those named on the command line."""
    print(
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {os.getloadavg()[0]:.1f}"
    )
    for name in sys.argv[1:] or SECTIONS:
        SECTIONS[name]()


if __name__ == "__main__":
    main()
