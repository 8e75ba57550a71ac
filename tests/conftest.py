"""What more than one room needs: the encoder, exported once, and a store in which the sample has been embedded."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def encoder_cache(request: pytest.FixtureRequest) -> Path:
    """What WAYFARE_CACHE points to: kept between sessions, filled by the first text that is embedded."""
    return Path(request.config.cache.mkdir("wayfare"))


@pytest.fixture(scope="session")
def warm_store(encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample's vectors and nothing else. They are kept between sessions, by their texts."""
    from core.console import Console

    kept, file = encoder_cache / "sample.duckdb", tmp_path_factory.mktemp("warm") / "warm.duckdb"
    if kept.exists():
        shutil.copy(kept, file)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAYFARE_CACHE", str(encoder_cache))
        with Console.open(file) as console:
            console.warm("sample")
    Path(shutil.copy(file, kept.with_name(f"{os.getpid()}.tmp"))).replace(kept)  # whole at any time
    return file
