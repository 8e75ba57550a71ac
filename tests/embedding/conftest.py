"""The exported model is made once a session, in a folder of its own; torch is loaded for nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.relevance.encoder_runtime import SentenceEncoder
from core.relevance.onnx_encoder import OnnxEncoder


@pytest.fixture(scope="session")
def wayfare_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What $WAYFARE_CACHE points to."""
    return tmp_path_factory.mktemp("wayfare-cache")


@pytest.fixture(scope="session")
def exported(wayfare_cache: Path) -> OnnxEncoder:
    """The encoder of the first start: it has exported the model into `wayfare_cache`."""
    return OnnxEncoder(wayfare_cache / "models")


@pytest.fixture(scope="session")
def reference() -> SentenceEncoder:
    """The same model on torch."""
    return SentenceEncoder()
