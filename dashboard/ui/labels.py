"""Labels of tools: their buttons, and what they moved."""

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
NAMED, NOTABLE = 3, 0.05  # tools beside the judged ones: the number that is named, and the smallest change
LIKE, ASKED_CHARACTERS = 0.3, 90  # of an example request beside a tool: its least cosine, and what is shown of it
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
        f"**{one.move.logits:+.2f}** {_reason(one, 120)}, similarity {min(one.move.cosine, 1.0):.2f}"
        f"{f', {escaped(one.label.origin, 20)}, {one.label.at:%Y-%m-%d}' if one.label else ''}"
        for one in moves[:LISTED]
    ]
    rest = sum(one.move.logits for one in moves[LISTED:])
    return [*lines, f"**{rest:+.2f}** {len(moves) - LISTED:,} more"] if len(moves) > LISTED else lines


def changed_words(before: Decision, now: Decision, judged: Sequence[str], sharing: Collection[str]) -> str:
    """Returns the changes after a label in one escaped sentence that begins with a space: the judged tools, equal tools that share
    the label, and other tools that moved much. Returns "" if a decision has no probabilities of fit."""
    if before.fit is None or now.fit is None or len(before.tools.ids) != len(now.tools.ids):
        return ""
    fitted = dict(zip(before.tools.ids, before.fit.tools.tolist(), strict=True))
    rows = {tool: row for row, tool in enumerate(now.tools.ids) if tool in fitted}
    fits = now.fit.tools
    was = np.array([fitted.get(tool, fit) for tool, fit in zip(now.tools.ids, fits.tolist(), strict=True)])
    change, told = fits - was, [rows[tool] for tool in judged if tool in rows]

    def shares(row: int) -> tuple[str, str, str]:
        return escaped(now.tools.ids[row], 80), units.share(float(was[row])), units.share(float(fits[row]))

    found = ["{} fits {} → **{}**".format(*shares(row)) for row in told]
    way = np.sign(change[told[:1]])
    too = [
        rows[tool]
        for tool in sharing
        if tool in rows and rows[tool] not in told and way.any() and np.sign(change[rows[tool]]) == way
    ]
    if too:
        found.append(
            f"{_names(now, too, change)}, which {'do' if len(too) > 1 else 'does'} the same, {'went up' if way > 0 else 'fell'} too"
        )
    much = np.flatnonzero(np.abs(change) >= NOTABLE)
    others = sorted({*much.tolist()} - {*told, *too}, key=lambda row: -abs(change[row]))[:NAMED]
    found += [
        ("{} rose from {} to {}" if change[row] > 0 else "{} fell from {} to {}").format(*shares(row)) for row in others
    ]
    return f" {'; '.join(found)}." if found else ""


def _names(now: Decision, rows: Sequence[int], change: Array) -> str:
    """Returns `a`, `a and b`, or `a, b and 3 more`, the largest change first."""
    ordered = sorted(rows, key=lambda row: -abs(change[row]))
    names = [escaped(now.tools.ids[row], 80) for row in ordered[:NAMED]]
    last = f"{len(rows) - NAMED:,} more" if len(rows) > NAMED else names.pop()
    return f"{', '.join(names)} and {last}" if names else last


def _reason(moved: MovedBy, limit: int) -> str:
    quoted = f"“{escaped(moved.query, limit)}”"
    if moved.label is None:
        return f"right for {quoted} in the calibration"
    said = f"{'right' if moved.label.right else 'wrong'} for {quoted}"
    return f"{said}, said of the equal tool {escaped(moved.shared_from, 80)}" if moved.shared_from else said


def _counted(moves: Sequence[MovedBy]) -> str:
    kinds = Counter("label" if one.by == LABEL else "of the calibration" for one in moves)
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
    said = app.feedback.said(decision.query, catalog=decision.catalog, server_hint=decision.server_hint, by=labeller())
    moves: dict[str, list[MovedBy]] = {}
    if decision.fit is not None and decision.fit.learnt is not None:
        for one in app.feedback.moved(decision.query, catalog=decision.catalog):
            moves.setdefault(one.tool, []).append(one)
    return Labelling(app, decision, said, moves, hypothetical, changed)


def label_bar(known: Labelling, tool: str, place: str) -> None:
    if known.hypothetical:
        return
    said = known.said.get(tool)
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        for right in (True, False):
            _judge(known, tool, place, right=right, said=said)
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


def _judge(known: Labelling, tool: str, place: str, *, right: bool, said: Label | None) -> None:
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
        args=(known, tool, place, right, said if pressed else None),
    )  # fmt: skip


def _other(known: Labelling, tool: str, place: str) -> None:
    key = f"label:{place}:other:{tool}"
    with st.popover("should be…", type="tertiary", key=key, on_change="rerun", **only("tune", help="Choose the tool that was right instead.")) as popover:  # fmt: skip
        if popover.open:  # the names of all tools are sent only when it is open
            chosen = f"{key}:chosen"
            names = known.app.catalogs.catalog(known.decision.catalog).tool_row
            pick(
                "It should have been", dict.fromkeys(name for name in names if name != tool), key=chosen,
                placeholder="Type a part of a server's or tool's name", changed=_store_other,
                args=(known, tool, place, key),
            )  # fmt: skip
            st.caption("Stores two labels: the chosen tool is right, this one is wrong.")


def _store(known: Labelling, tool: str, place: str, right: bool, taken_back: Label | None) -> None:
    def act() -> tuple[str, tuple[Label, ...]]:
        decision, word = known.decision, "right" if right else "wrong"
        if taken_back is not None:
            known.app.feedback.retract(taken_back.id, by=labeller())
            return f"Taken back: {escaped(tool, 80)} is no longer labelled {word}.", ()
        label = known.app.feedback.label(
            decision.query, tool, right=right, catalog=decision.catalog, server_hint=decision.server_hint,
            decision_id=decision.id, by=labeller(),
        )  # fmt: skip
        return f"Stored: {escaped(tool, 80)} is **{word}**. The same click takes it back.", (label,)

    _say(known, (tool,), place, act, taken_back=() if taken_back is None else (taken_back,))


def _store_other(known: Labelling, shown: str, place: str, key: str) -> None:
    right = st.session_state.get(f"{key}:chosen")
    if right is None:
        return
    st.session_state[key] = False  # close it

    def act() -> tuple[str, tuple[Label, ...]]:
        decision = known.decision
        labels = known.app.feedback.should_have_been(
            decision.query, right=right, shown=shown, catalog=decision.catalog, server_hint=decision.server_hint,
            decision_id=decision.id, by=labeller(),
        )  # fmt: skip
        return f"Stored: {escaped(right, 80)} is **right**, {escaped(shown, 80)} is **wrong**.", labels

    _say(known, (right, shown), place, act)


def _back(known: Labelling, notice: Notice) -> None:
    def act() -> tuple[str, tuple[Label, ...]]:
        for label in notice.labels:
            known.app.feedback.retract(label.id, by=labeller())
        return f"Taken back: the labels of {' and '.join(escaped(one.tool, 80) for one in notice.labels)}.", ()

    _say(known, [label.tool for label in notice.labels], notice.place, act, taken_back=notice.labels)


def _keep(known: Labelling, notice: Notice) -> None:
    right = next(label.tool for label in notice.labels if label.right)

    def act() -> tuple[str, tuple[Label, ...]]:
        decision = known.decision
        known.app.requests.add_by_hand(decision.catalog, right, [decision.query], labeller())
        return f"“{escaped(decision.query, 90)}” is an example request of {escaped(right, 80)} now.", ()

    _say(known, [right], notice.place, act)


def _say(
    known: Labelling,
    judged: Sequence[str],
    place: str,
    act: Callable[[], tuple[str, tuple[Label, ...]]],
    *,
    taken_back: Sequence[Label] = (),
) -> None:
    """Call `act`, and keep its sentence or its error as the notice."""
    decision, shared = known.decision, _sharing(taken_back, *known.moves.values())
    try:
        sentence, labels = act()
        shared |= _sharing(labels, known.app.feedback.moved(decision.query, catalog=decision.catalog))
    except WayfareError as error:
        st.session_state[NOTICE] = Notice(place, decision, str(error), done=False)
        return
    st.session_state[NOTICE] = Notice(place, decision, sentence, labels, tuple(judged), shared)
    known.changed()


def _sharing(labels: Sequence[Label], *moves: Sequence[MovedBy]) -> frozenset[str]:
    """Returns the equal tools that these labels moved."""
    ids = {label.id for label in labels}
    return frozenset(one.tool for some in moves for one in some if one.shared_from and one.move.id in ids)


def _asked(decision: Decision) -> tuple[str, str, str]:
    return decision.catalog, decision.query, decision.server_hint
