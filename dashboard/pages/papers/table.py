"""A table of a paper as HTML: for each measure what the paper prints, and ours; each row says how ours came about."""

from __future__ import annotations

import html
import math
from collections.abc import Callable

from core.lab.papers.report import AS_IT_IS, Column, Kind, Link, Row, Table, Value, agrees
from core.shared.untrusted_text import one_line
from dashboard.pages.papers.links import WORDS

FEWEST_DIGITS, WHOLE = 3, 1000
Address = Callable[[Link], str]


def kind_words(table: Table, row: Row) -> str:
    """How a row came about, in a word or two."""
    if row.kind is Kind.EXACT:
        same = all(agrees(column, *row.values[column.key]) for column in table.columns if column.key in row.values)
        return "exact ✓" if same else "exact ≠"
    if row.kind is Kind.OURS:
        return "our data"
    if row.kind is Kind.MODEL:
        made = any(ours is not None for _, ours in row.values.values())
        return f"by {one_line(row.model, 40)}" if made else "needs a model"
    return "not made"


def shown(value: Value, digits: int) -> str:
    """A figure with the digits that the paper prints, a small one with at least three that count; a dash where there is none.

    >>> shown(94.2, 1), shown(0.0170234, 2), shown(52278678.0, 2), shown(2500.31, 2), shown(None, 1), shown("Yes", 1)
    ('94.2', '0.0170', '52,278,678', '2,500.31', '–', 'Yes')
    >>> shown(5.0, AS_IT_IS), shown(0.0025, AS_IT_IS), shown(0.0, 1)
    ('5', '0.0025', '0.0')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if digits == AS_IT_IS:
        return f"{value:g}"
    if abs(value) >= WHOLE and value == int(value):
        return f"{value:,.0f}"
    if 0 < abs(value) < 1 and digits:
        digits = max(digits, FEWEST_DIGITS - 1 - math.floor(math.log10(abs(value))) if abs(value) < 0.1 else digits)
    return f"{value:,.{digits}f}"


def table_html(table: Table, address: Address) -> str:
    """The whole table. What a row says is text, never markup."""
    sides = {column.key: _sides(table, column) for column in table.columns}
    head = "".join(f'<th colspan="{len(sides[c.key])}">{_title(c)}</th>' for c in table.columns)
    whose = "".join(
        f'<th class="{"ours" if side else "theirs"}">{"ours" if side else "paper"}</th>'
        for c in table.columns
        for side in sides[c.key]
    )
    tried = _has_links(table)
    lines = "".join(_line(table, row, sides, address, tried=tried) for row in table.rows)
    end = '<th rowspan="2"></th>' * (2 if tried else 1)
    return (
        f'<div class="papers-scroll"><table class="papers"><thead><tr><th rowspan="2"></th>{head}{end}</tr><tr>{whose}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def width(table: Table) -> int:
    """About how wide it is on a screen, px: names, figures and their titles, how each row came about, links."""
    figures = sum(max(8 * len(_title(column)) + 20, 62 * len(_sides(table, column))) for column in table.columns)
    names = max(max(len(row.name) for row in table.rows) * 7, 120)
    return min(names, 300) + figures + 100 + 70 * _has_links(table)


def _has_links(table: Table) -> bool:
    """Whether rows lead elsewhere than the whole table."""
    return any(row.link is not None and row.link != table.link for row in table.rows)


def _sides(table: Table, column: Column) -> tuple[int, ...]:
    """Which of the two sides some row has; both where none has any."""
    present = [
        side for side in (0, 1) if any(row.values.get(column.key, (None, None))[side] is not None for row in table.rows)
    ]
    return tuple(present) or (0, 1)


def _title(column: Column) -> str:
    return html.escape(f"{column.title}, {column.unit}" if column.unit else column.title)


def _line(table: Table, row: Row, sides: dict[str, tuple[int, ...]], address: Address, *, tried: bool) -> str:
    cells = "".join(_cell(row, column, side) for column in table.columns for side in sides[column.key])
    why = f'<div class="why">{html.escape(one_line(row.why, 400))}</div>' if row.why else ""
    name = f'<th scope="row">{html.escape(one_line(row.name, 120))}{why}</th>'
    words = kind_words(table, row)
    end = f'<td class="kind{" differs" if "≠" in words else ""}">{html.escape(words)}</td>'
    if tried:
        target = "" if row.link is None else address(row.link)
        end += f'<td class="try">{_anchor(row.link, target) if row.link is not None and target else ""}</td>'
    return f"<tr>{name}{cells}{end}</tr>"


def _anchor(link: Link, target: str) -> str:
    return f'<a href="{html.escape(target)}">{html.escape(WORDS.get(link.page, link.page))}</a>'


def _cell(row: Row, column: Column, side: int) -> str:
    pair = row.values.get(column.key, (None, None))
    missed = row.kind is Kind.EXACT and side == 1 and not agrees(column, *pair)
    return f'<td class="{"ours" if side else "theirs"}{" differs" if missed else ""}">{html.escape(shown(pair[side], column.digits))}</td>'
