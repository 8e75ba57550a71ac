"""The wheel: every file is in it, and it works where no checkout is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.docs.markdown import ROOT

NOT_SOURCE = shutil.ignore_patterns("__pycache__")
FOLDERS = (".streamlit", "core", "dashboard", "sample_catalog")
BUILD = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1], {'--build-option': ['--compression=stored']})"
RUN = "import dashboard.app; from core.cli import main; print(dashboard.app.__file__, flush=True); main(['catalogs'])"


def test_every_file_is_in_the_wheel_and_it_runs_without_a_checkout(tmp_path: Path) -> None:
    source, made, packages = (tmp_path / name for name in ("source", "made", "packages"))
    made.mkdir()
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=NOT_SOURCE)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    subprocess.run([sys.executable, "-c", BUILD, made], cwd=source, capture_output=True, check=True, timeout=300)
    (wheel,) = made.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(packages)
    files = [file.relative_to(source) for name in FOLDERS for file in (source / name).rglob("*") if file.is_file()]
    assert [file for file in files if not (packages / file).is_file()] == []

    shutil.rmtree(source)
    environment = {**os.environ, "PYTHONPATH": str(packages), "WAYFARE_DB": str(tmp_path / "wheel.duckdb")}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", RUN],
        check=False,
        cwd=made,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.startswith(str(packages)), ran.stderr
    assert "sample" in ran.stdout, ran.stderr
