import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from core.relevance.encoder import MAX_CHARACTERS, cleaned, text_hash, unit_rows

any_text = st.text(alphabet=st.characters(exclude_categories=()))


@settings(max_examples=40)
@given(any_text)
def test_every_text_has_a_hash_of_32_digits_and_a_clean_form(text: str) -> None:
    assert len(text_hash(text)) == 32
    assert text_hash(text) == text_hash(text)
    assert cleaned(cleaned(text)) == cleaned(text)
    cleaned(text).encode("utf-8")


def test_a_clean_text_is_bounded() -> None:
    assert len(cleaned("x" * 10**6)) == MAX_CHARACTERS


def test_hashes_differ_where_texts_differ() -> None:
    assert text_hash("a") != text_hash("a ")
    assert text_hash("\ud800") != text_hash("?")


@settings(max_examples=40)
@given(npst.arrays(np.float64, npst.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-1e6, 1e6, width=32)))
def test_unit_rows_have_norm_one_or_are_zero(matrix: np.ndarray) -> None:
    norms = np.linalg.norm(unit_rows(matrix).astype(np.float64), axis=1)
    zero = np.linalg.norm(matrix, axis=1) == 0
    np.testing.assert_allclose(norms[~zero], 1.0, atol=1e-5)
    assert not norms[zero].any()
