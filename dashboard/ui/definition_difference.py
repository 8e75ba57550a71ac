"""What changed in a tool's definition, word by word, and what Lint says of it as it is now."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

import dashboard
from core.governance.approvals import PartDifference, Piece
from core.services.govern.definitions import HeldDefinition
from core.shared.untrusted_text import visible
from dashboard.ui.text import escaped

CSS = Path(dashboard.__file__).parent / "assets" / "definition.css"
TAGS = {"same": "span", "removed": "del", "added": "ins"}
PARTS = {"title": "Title", "description": "Description", "inputSchema": "Input schema", "outputSchema": "Output schema", "annotations": "Annotations"}  # fmt: skip
CONTEXT_CHARS = 240


def what_changed(held: HeldDefinition) -> None:
    """Each part that changed, and each finding."""
    st.html(CSS)
    for part in held.differences:
        st.html(difference_html(part))
    for finding in held.findings:
        said = "Lint finds in it now" if finding in held.new_findings else "Lint found in it before, too"
        show = st.error if finding.severity == "error" and finding in held.new_findings else st.warning
        show(f"{said}: {escaped(finding.reason, 400)}", icon=":material/policy:")
    if not held.findings:
        st.caption("Lint finds nothing wrong with it.")


def difference_html(part: PartDifference) -> str:
    """One part of a definition with its removed and added words marked; long stretches without a change are cut."""
    pieces = "".join(f"<{TAGS[piece.change]}>{escape(_text(piece))}</{TAGS[piece.change]}>" for piece in part.pieces)
    return f'<div class="definition-difference"><b>{PARTS[part.part]}</b><p>{pieces}</p></div>'


def _text(piece: Piece) -> str:
    text = visible(piece.text)
    if piece.change != "same" or len(text) <= 2 * CONTEXT_CHARS:
        return text
    return f"{text[:CONTEXT_CHARS]} … {text[-CONTEXT_CHARS:]}"
