"""How a call ended, and the two bits that equation (8) reads."""

from core.domain.outcome import OutcomeKind
from tests.cases import each


@each(
    ("kind", "y", "fail", "counts"),
    [
        ("ok", True, False, True),
        ("tool_error", False, False, True),
        ("invalid_arguments", False, False, True),
        ("timeout", False, True, True),
        ("crash", False, True, True),
        ("not_connected", False, True, True),
        ("cancelled", False, False, False),
        ("not_tried", False, False, False),
        ("busy", False, False, False),
    ],
)
def test_each_kind_has_the_bits_of_the_specification(kind, y, fail, counts):
    got = OutcomeKind(kind)
    assert (got.success, got.post_accept_failure, got.counts) == (y, fail, counts)


def test_every_kind_is_judged_above():
    assert len(OutcomeKind) == 9
