"""The lists of the policy as tables: pinned tools, the cleaning of results, and servers with a sign-in of each person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, get_args

import pandas as pd
import streamlit as st
from streamlit.column_config import SelectboxColumn, TextColumn

from core.app import App
from core.domain.errors import WayfareError
from core.domain.people import person
from core.governance.policy import Mode, Pin, Policy, Sanitise, from_toml, to_toml
from dashboard.pages.govern.budgets import change, put
from dashboard.session import only
from dashboard.ui.text import errors_shown

KINDS = {"pinned": Pin, "sanitise": Sanitise}
FIRST = {"pinned": "tool", "sanitise": "server"}
"""A row without this column is not finished."""
MODES = list(get_args(Mode))
Rows = tuple[Any, ...]


def lists(app: App) -> None:
    policy = app.governance.policy
    pinned, cleaning = st.columns(2, gap="medium")
    with pinned.container(border=True, height="stretch"):
        st.markdown("**Tools listed directly, beside search_tools**")
        _edited(app, policy, "pinned", {
            "tool": TextColumn("tool", width=240, help="As catalog/server::tool."),
            "client": TextColumn("client", width=90, default="*", help="A client's name, or * for all."),
        })  # fmt: skip
        names = [server.name for info in app.catalogs.infos() for server in app.catalogs.catalog(info.name).servers]
        key = "govern:policy-per_person"
        st.session_state[key] = list(policy.per_person)
        st.multiselect(
            "Servers to which each person has their own sign-in and secrets", sorted({*names, *policy.per_person}), key=key,
            accept_new_options=True, placeholder="None: all share them", on_change=_per_person, args=(app, key, policy.per_person),
            **only("administer", help="Names or patterns. People give theirs on the Catalog page; `wayfare secrets` and `wayfare signin` take --for CLIENT."),
        )  # fmt: skip
    with cleaning.container(border=True, height="stretch"):
        st.markdown("**Secrets and instructions in results, resources and prompts**")
        modes = {
            name: SelectboxColumn(name, width=85, options=MODES, default="off", required=True)
            for name in ("secrets", "instructions")
        }
        server = TextColumn("server", width=110, help="A name or a pattern, * for all.")
        _edited(app, policy, "sanitise", {"server": server, **modes})
        st.caption("The first row that matches a server counts: mark leaves the text with a note, remove takes it out, block gives nothing of the result.")  # fmt: skip


def _per_person(app: App, key: str, before: Rows) -> None:
    servers = tuple(st.session_state[key])
    change(app, lambda policy: with_list(policy, "per_person", before, servers))


def with_list(policy: Policy, name: str, before: Rows, after: Rows) -> Policy:
    """Returns the policy with a list in the place of `before`. Raises WayfareError if its list is another one: nothing of that is lost."""
    if getattr(policy, name) not in (before, after):
        raise WayfareError("The list was changed meanwhile; this is the present one.")
    return replace(policy, **{name: after})


def _edited(app: App, policy: Policy, name: str, columns: Mapping[str, Any]) -> None:
    """Draw one list. A finished row is in force at once."""
    frame = pd.DataFrame([asdict(row) for row in getattr(policy, name)], columns=list(columns), dtype=str)
    edited_frame = st.data_editor(
        frame, key=f"govern:policy-{name}-{policy.digest[:12]}", num_rows="dynamic", hide_index=True, column_config=columns,
        disabled=bool(person().refusal("administer")), placeholder="", alt=f"The list {name} of the policy",
    )  # fmt: skip
    rows = edited_frame.to_dict("records")
    with errors_shown():
        before, after = getattr(policy, name), getattr(with_rows(policy, name, rows), name)
        if after != before:
            put(app, lambda present: with_list(present, name, before, after))
            st.rerun()


def with_rows(policy: Policy, name: str, rows: Sequence[Mapping[str, Any]]) -> Policy:
    """Returns the policy with the finished rows of a list; an empty cell has its default. Raises WayfareError for a wrong row.

    >>> with_rows(Policy(), "sanitise", [{"server": "web-*", "secrets": "mark", "instructions": None}, {"server": None}]).sanitise
    (Sanitise(server='web-*', secrets='mark', instructions='off'),)
    """
    cells = [{key: value for key, value in row.items() if isinstance(value, str) and value.strip()} for row in rows]
    entries = tuple(KINDS[name](**row) for row in cells if FIRST[name] in row)
    return from_toml(to_toml(replace(policy, **{name: entries})))
