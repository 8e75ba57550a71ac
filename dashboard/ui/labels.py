"""Buttons to label tools, and sentences about the effect of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.feedback import By, Label
from core.domain.people import person
from core.domain.trace import Array
from core.learning.feedback import LABEL, MovedBy
from dashboard.session import only
from dashboard.ui.table import pick
from dashboard.ui.text import escaped

LISTED = 6
NAMED, NOTABLE = 3, 0.05  # tools beside the judged tools: the most that are named, and their smallest change
LIKE, ASKED_CHARACTERS = 0.3, 90  # an example request beside a tool: its least cosine, and its longest text
ASKED_HELP = "The nearest example request of this tool. A near one raises its probability of fit."
LABELS_HELP = (
    "The sum that labels of similar sub-tasks add to the logit of this tool's probability of fit, with labels of equal tools. "
    "The sum is bounded. A visitor counts as at most one label, all agents together as half of one."
)


def moved_words(moves: Sequence[MovedBy], logits: float) -> str:
    """Returns the whole shift of one tool in logits, with the strongest reason; escaped. `moves` begin with the strongest."""
    if not moves:
        return ""
    return f"labels **{logits:+.1f}** ({_reason(moves[0], 60)}; {_counted(moves)})"


def moved_lines(moves: Sequence[MovedBy]) -> list[str]:
    """Returns the strongest labels that moved a tool, with their part in logits and the similarity of their sub-tasks; escaped."""
    lines = [
        f"**{cause.move.logits:+.2f}** {_reason(cause, 120)}, similarity {min(cause.move.cosine, 1.0):.2f}"
        f"{f', {escaped(cause.label.origin, 20)}, {cause.label.at:%Y-%m-%d}' if cause.label else ''}"
        for cause in moves[:LISTED]
    ]
    rest = sum(cause.move.logits for cause in moves[LISTED:])
    return [*lines, f"**{rest:+.2f}** {len(moves) - LISTED:,} more"] if len(moves) > LISTED else lines


def changed_words(before: Decision, now: Decision, judged: Sequence[str], sharing: Collection[str]) -> str:
    """Returns the changes after a label in one escaped sentence that begins with a space: the judged tools, equal tools that share
    the label, and other tools that moved much. Returns "" if a decision has no probabilities of fit."""
    if before.fit is None or now.fit is None or len(before.tools.ids) != len(now.tools.ids):
        return ""
    fitted = dict(zip(before.tools.ids, before.fit.tools.tolist(), strict=True))
    rows = {tool: row for row, tool in enumerate(now.tools.ids) if tool in fitted}
    fits = now.fit.tools
    previous = np.array([fitted.get(tool, fit) for tool, fit in zip(now.tools.ids, fits.tolist(), strict=True)])
    change, judged_rows = fits - previous, [rows[tool] for tool in judged if tool in rows]

    def shares(row: int) -> tuple[str, str, str]:
        return escaped(now.tools.ids[row], 80), units.share(float(previous[row])), units.share(float(fits[row]))

    clauses = ["{} fits {} → **{}**".format(*shares(row)) for row in judged_rows]
    way = np.sign(change[judged_rows[:1]])
    equal_rows = [
        rows[tool]
        for tool in sharing
        if tool in rows and rows[tool] not in judged_rows and way.any() and np.sign(change[rows[tool]]) == way
    ]
    if equal_rows:
        clauses.append(
            f"{_names(now, equal_rows, change)}, which {'do' if len(equal_rows) > 1 else 'does'} the same, {'went up' if way > 0 else 'fell'} too"
        )
    notable_rows = np.flatnonzero(np.abs(change) >= NOTABLE)
    others = sorted({*notable_rows.tolist()} - {*judged_rows, *equal_rows}, key=lambda row: -abs(change[row]))[:NAMED]
    clauses += [
        ("{} rose from {} to {}" if change[row] > 0 else "{} fell from {} to {}").format(*shares(row)) for row in others
    ]
    return f" {'; '.join(clauses)}." if clauses else ""


def _names(decision: Decision, rows: Sequence[int], change: Array) -> str:
    """Returns `a`, `a and b`, or `a, b and 3 more`, the largest change first."""
    ordered = sorted(rows, key=lambda row: -abs(change[row]))
    names = [escaped(decision.tools.ids[row], 80) for row in ordered[:NAMED]]
    last = f"{len(rows) - NAMED:,} more" if len(rows) > NAMED else names.pop()
    return f"{', '.join(names)} and {last}" if names else last


def _reason(cause: MovedBy, limit: int) -> str:
    quoted = f"“{escaped(cause.query, limit)}”"
    if cause.label is None:
        return f"right for {quoted} in the calibration"
    verdict = f"{'right' if cause.label.right else 'wrong'} for {quoted}"
    return f"{verdict}, said of the equal tool {escaped(cause.shared_from, 80)}" if cause.shared_from else verdict


def _counted(moves: Sequence[MovedBy]) -> str:
    kinds = Counter("label" if cause.by == LABEL else "of the calibration" for cause in moves)
    return ", ".join(f"{count:,} {kind}{'s' if count > 1 and ' ' not in kind else ''}" for kind, count in kinds.items())


NOTICE = "label:notice"


@dataclass(frozen=True, slots=True)
class Labelling:
    """One decision with this visitor's labels and the `moves` of each tool, the strongest first. A `hypothetical`
    decision is not recorded, and its tools get no labels. `changed` is called after a label was stored."""

    app: App
    decision: Decision
    said: Mapping[str, Label]
    moves: Mapping[str, Sequence[MovedBy]]
    hypothetical: bool
    changed: Callable[[], None]

    def learnt(self, tool: str) -> float:
        """Returns the shift of a tool by labels, in logits of p_fit; 0 if no label is near."""
        fit, ids = self.decision.fit, self.decision.tools.ids
        return 0.0 if fit is None or fit.learnt is None or tool not in ids else float(fit.learnt[ids.index(tool)])


@dataclass(frozen=True, slots=True)
class Notice:
    """The last stored labels, their place on the page, the decision before them, the judged tools, and the equal tools that share
    their labels."""

    place: str
    before: Decision
    sentence: str
    labels: tuple[Label, ...] = ()
    judged: tuple[str, ...] = ()
    sharing: frozenset[str] = frozenset()
    done: bool = True


def asked_like(app: App, decision: Decision, tool: str) -> str:
    """Returns the example request of a tool that is like the sub-task, as a few muted words, escaped. Returns "" if there is none, or if
    the decision did not use the requests."""
    if decision.fit is None or decision.by_words:  # decided by another encoder, or none: the sub-task would be embedded
        return ""
    near = app.requests.near(decision.catalog, decision.query, decision.server_hint, [tool]).get(tool)
    if near is None or near.cosine < LIKE:
        return ""
    return f":small[:gray[asked like: “{escaped(near.text, ASKED_CHARACTERS)}”]]"


def asked_like_line(app: App, decision: Decision, tool: str) -> None:
    if words := asked_like(app, decision, tool):
        st.markdown(words, help=ASKED_HELP)


def labeller(origin: str = "console") -> By:
    """Returns the author of labels: the person who is signed in, else the address of another machine, or "" for this machine."""
    address = st.context.ip_address
    return By(person().name or (address if isinstance(address, str) else ""), origin)


def labelling(
    app: App, decision: Decision, *, hypothetical: bool = False, changed: Callable[[], None] = lambda: None
) -> Labelling:
    labels = app.feedback.said(
        decision.query, catalog=decision.catalog, server_hint=decision.server_hint, by=labeller()
    )
    moves: dict[str, list[MovedBy]] = {}
    if decision.fit is not None and decision.fit.learnt is not None:
        for cause in app.feedback.moved(decision.query, catalog=decision.catalog):
            moves.setdefault(cause.tool, []).append(cause)
    return Labelling(app, decision, labels, moves, hypothetical, changed)


def label_bar(known: Labelling, tool: str, place: str) -> None:
    if known.hypothetical:
        return
    label = known.said.get(tool)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for right in (True, False):
            _judge(known, tool, place, right=right, said=label)
        _other(known, tool, place)


def label_notice(known: Labelling, place: str, *, now: Decision | None = None) -> None:
    """Shows the last change in this place for this sub-task. `now` is a decision made after it."""
    notice: Notice | None = st.session_state.get(NOTICE)
    if notice is None or notice.place != place or _asked(notice.before) != _asked(known.decision):
        return
    if not notice.done:
        st.error(escaped(notice.sentence), icon=":material/error:")
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        changed_to = "" if now is None else changed_words(notice.before, now, notice.judged, notice.sharing)
        st.markdown(f":small[:green[:material/check_circle:] {notice.sentence}{changed_to}]")
        if len(notice.labels) > 1:  # two labels: the same click does not take back both
            st.button("Take back", key=f"label:{place}:back", **only("tune"), type="tertiary", icon=":material/undo:", on_click=_back, args=(known, notice))  # fmt: skip
            st.button(
                "Keep as its example request", key=f"label:{place}:keep", type="tertiary", icon=":material/forum:", on_click=_keep,
                args=(known, notice), **only("tune", help="The question becomes an example request of the right tool, which counts for everybody. "
                "The Catalog page lists it there and removes it."),
            )  # fmt: skip


def _judge(context: Labelling, tool: str, place: str, *, right: bool, said: Label | None) -> None:
    word, colour = ("right", "green") if right else ("wrong", "orange")
    pressed = said is not None and said.right is right
    icon = ":material/check_circle:" if pressed else f":material/thumb_{'up' if right else 'down'}:"
    st.button(
        f":{colour}[**{word}**]" if pressed else word,
        key=f"label:{place}:{word}:{tool}",
        icon=icon,
        type="tertiary",
        **only("tune", help="Your label. The same click takes it back." if pressed else
        f"Store that this tool is {word} for this sub-task. It counts in the next decisions on similar sub-tasks."),
        on_click=_store,
        args=(context, tool, place, right, said if pressed else None),
    )  # fmt: skip


def _other(context: Labelling, tool: str, place: str) -> None:
    key = f"label:{place}:other:{tool}"
    with st.popover("should be…", type="tertiary", key=key, on_change="rerun", **only("tune", help="Choose the tool that was right instead.")) as popover:  # fmt: skip
        if popover.open:  # the names of all tools are sent only when it is open
            chosen = f"{key}:chosen"
            names = context.app.catalogs.catalog(context.decision.catalog).tool_row
            pick(
                "It should have been", dict.fromkeys(name for name in names if name != tool), key=chosen,
                placeholder="Type a part of a server's or tool's name", changed=_store_other,
                args=(context, tool, place, key),
            )  # fmt: skip
            st.caption("Stores two labels: the chosen tool is right, this one is wrong.")


def _store(context: Labelling, tool: str, place: str, right: bool, taken_back: Label | None) -> None:
    def act() -> tuple[str, tuple[Label, ...]]:
        decision, word = context.decision, "right" if right else "wrong"
        if taken_back is not None:
            context.app.feedback.retract(taken_back.id, by=labeller())
            return f"Taken back: {escaped(tool, 80)} is no longer labelled {word}.", ()
        label = context.app.feedback.label(
            decision.query, tool, right=right, catalog=decision.catalog, server_hint=decision.server_hint,
            decision_id=decision.id, by=labeller(),
        )  # fmt: skip
        return f"Stored: {escaped(tool, 80)} is **{word}**. The same click takes it back.", (label,)

    _say(context, (tool,), place, act, taken_back=() if taken_back is None else (taken_back,))


def _store_other(context: Labelling, wrong: str, place: str, key: str) -> None:
    right = st.session_state.get(f"{key}:chosen")
    if right is None:
        return
    st.session_state[key] = False  # close it

    def act() -> tuple[str, tuple[Label, ...]]:
        decision = context.decision
        labels = context.app.feedback.should_have_been(
            decision.query, right=right, shown=wrong, catalog=decision.catalog, server_hint=decision.server_hint,
            decision_id=decision.id, by=labeller(),
        )  # fmt: skip
        return f"Stored: {escaped(right, 80)} is **right**, {escaped(wrong, 80)} is **wrong**.", labels

    _say(context, (right, wrong), place, act)


def _back(context: Labelling, notice: Notice) -> None:
    def act() -> tuple[str, tuple[Label, ...]]:
        for label in notice.labels:
            context.app.feedback.retract(label.id, by=labeller())
        return f"Taken back: the labels of {' and '.join(escaped(label.tool, 80) for label in notice.labels)}.", ()

    _say(context, [label.tool for label in notice.labels], notice.place, act, taken_back=notice.labels)


def _keep(context: Labelling, notice: Notice) -> None:
    right = next(label.tool for label in notice.labels if label.right)

    def act() -> tuple[str, tuple[Label, ...]]:
        decision = context.decision
        context.app.requests.add_by_hand(decision.catalog, right, [decision.query], labeller())
        return f"“{escaped(decision.query, 90)}” is an example request of {escaped(right, 80)} now.", ()

    _say(context, [right], notice.place, act)


def _say(
    context: Labelling,
    judged: Sequence[str],
    place: str,
    act: Callable[[], tuple[str, tuple[Label, ...]]],
    *,
    taken_back: Sequence[Label] = (),
) -> None:
    """Call `act`, and keep its sentence or its error as the notice."""
    decision, shared = context.decision, _sharing(taken_back, *context.moves.values())
    try:
        sentence, labels = act()
        shared |= _sharing(labels, context.app.feedback.moved(decision.query, catalog=decision.catalog))
    except WayfareError as error:
        st.session_state[NOTICE] = Notice(place, decision, str(error), done=False)
        return
    st.session_state[NOTICE] = Notice(place, decision, sentence, labels, tuple(judged), shared)
    context.changed()


def _sharing(labels: Sequence[Label], *moves: Sequence[MovedBy]) -> frozenset[str]:
    """Returns the equal tools that these labels moved."""
    ids = {label.id for label in labels}
    return frozenset(cause.tool for causes in moves for cause in causes if cause.shared_from and cause.move.id in ids)


def _asked(decision: Decision) -> tuple[str, str, str]:
    return decision.catalog, decision.query, decision.server_hint
