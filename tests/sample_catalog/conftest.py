"""The sandbox of the servers that write files."""

from pathlib import Path

import pytest


@pytest.fixture
def sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sandbox next to a secret, with links that lead out of it."""
    folder = tmp_path / "sandbox" / "files"
    folder.mkdir(parents=True)
    (tmp_path / "secret.txt").write_text("the secret word")
    (folder / "inside.txt").write_text("an open word")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "out").symlink_to(tmp_path)
    monkeypatch.setenv("WAYFARE_SANDBOX", str(tmp_path / "sandbox"))
    return folder
