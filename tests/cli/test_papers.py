"""`wayfare papers`: wrong use; what it makes is checked in tests/lab/test_papers.py."""

from __future__ import annotations

from pathlib import Path

from core.papers import PAPERS
from tests.cli.conftest import Command
from tests.cli.test_wrong_use import refused


def test_a_paper_that_there_is_none_of_is_refused_before_anything_is_made(wayfare: Command, tmp_path: Path) -> None:
    refused(wayfare("papers", "--paper", "nobody's", "--to", tmp_path / "made"), "nobody's", *PAPERS)
    assert not (tmp_path / "made").exists()
