"""What all page tests share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(scope="session", autouse=True)
def installed_packages_scanned_once() -> Iterator[None]:
    """Each `AppTest` reads the metadata of all installed packages, to find components: half a second of its 0.56."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield
