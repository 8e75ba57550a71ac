"""Measuring and printing for benchmarks: medians of one run, next to their goals."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]


def timed(call: Callable[[], object], repeats: int, warm_up: int = 3) -> list[float]:
    """Seconds of each call after a warm-up, sorted."""
    for _ in range(warm_up):
        call()
    times: list[float] = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return sorted(times)


def percentile(ordered: Sequence[float], share: float) -> float:
    """The nearest value at a share of a sorted list."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(title: str, figures: Mapping[str, float], unit: str, reach: str = "") -> None:
    """Prints one line: title, figures, and goal."""
    numbers = ", ".join(f"{name} {value:.2f} {unit}" for name, value in figures.items())
    print(f"{title:<58} {numbers}{f'   (to reach: {reach})' if reach else ''}", flush=True)


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(command: Sequence[str], healthy_url: str, environment: Mapping[str, str]) -> Iterator[float]:
    """A server as a subprocess; gives the seconds from start to healthy, and ends it afterwards."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not answers(healthy_url):
            if process.poll() is not None or time.perf_counter() - started > 120:
                raise RuntimeError(f"{command} did not become healthy")
            time.sleep(0.01)
        yield time.perf_counter() - started
    finally:
        process.terminate()
        process.wait(15)


def answers(url: str) -> bool:
    """Whether a GET gets any answer."""
    try:
        with urllib.request.urlopen(url, timeout=1):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
