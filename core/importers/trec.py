"""TREC's files: qrels, with one grade for each query and tool, and runs, with what was ranked for each query.

    q1 0 files::read 3                         query, 0, tool, grade
    q1 Q0 files::read 1 10 ehrr-3fa9c2d1       query, Q0, tool, rank, score, name of the run

Fields end at white space, so in them white space and % are written as %20 and %25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote

PRINTABLE = "!\"#$&'()*+,/:;<=>?@[\\]^`{|}~"  # stays as it is in a field


def qrels_text(grades: Mapping[str, Mapping[str, float]]) -> str:
    r"""One grade for each tool by query id.

    >>> qrels_text({"q1": {"my files::read": 3}})
    'q1 0 my%20files::read 3\n'
    """
    return "".join(
        f"{field(query)} 0 {field(tool)} {int(grade)}\n"
        for query, tools in grades.items()
        for tool, grade in tools.items()
    )


def run_text(ranked: Mapping[str, Sequence[str]], name: str) -> str:
    r"""The tools that were ranked for each query id, best first. Scores only fall with the rank: a run is stored without others.

    >>> run_text({"q1": ["a::b", "c::d"]}, "ehrr")
    'q1 Q0 a::b 1 2 ehrr\nq1 Q0 c::d 2 1 ehrr\n'
    """
    return "".join(
        f"{field(query)} Q0 {field(tool)} {rank} {len(tools) - rank + 1} {field(name)}\n"
        for query, tools in ranked.items()
        for rank, tool in enumerate(tools, start=1)
    )


def field(text: str) -> str:
    """A text as one field.

    >>> field("100 % sure::go")
    '100%20%25%20sure::go'
    """
    return quote(text, safe=PRINTABLE)
