"""What a page needs of the process: the one app with its services, opened once with the settings that it was started with."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core.domain.governance_events import origin_of
from core.endpoint.door import Owner, announced
from core.shared.errors import WayfareError
from core.shared.settings import Settings, launched
from core.store import Store

if TYPE_CHECKING:
    from core.app import App

FIRST_VISITOR_S = 20.0  # how long a first visitor is waited for
PAUSE_S = 2.0  # the browser still fetches and draws when the page's script has ended

_opening = threading.Lock()
_drawn = threading.Event()
_store: Store | None = None
_app: App | None = None


def endpoint_hosts() -> frozenset[str]:
    """Names beside those of this machine that the endpoint answers to."""
    return launched().hosts


def sign_in_needed() -> bool:
    """Whether pages are for operators who have signed in."""
    return launched().sign_in


def operator() -> str:
    """Who is signed in and looks at the page; "" where nobody has to sign in."""
    if not launched().sign_in:
        return ""
    sign_ins = current_app().governance.sign_ins
    return sign_ins.operator(st.context.cookies.get(sign_ins.cookie, ""))


def origin() -> str:
    """Where changes that are made at a page come from, with who is signed in."""
    return origin_of("console", operator())


def announcement(key: str) -> AbstractContextManager[None]:
    """Tells other processes of this machine, while it lasts, where they reach who has the store, and the key for commands."""
    url = launched().url
    return announced(_chosen().db, Owner(url, key)) if url else nullcontext()


def _chosen() -> Settings:
    return launched().settings or Settings.from_environment()


def open_store() -> None:
    """Take the store before anybody is told that the console can serve."""
    global _store  # noqa: PLW0603 - one process, one store, one app
    with _opening:
        if _store is None and _app is None:
            _store = Store(_chosen().db)


def current_app() -> App:
    """The app of this process, opened at first use."""
    global _app  # noqa: PLW0603
    with _opening:
        if _app is None:
            from core.app import build_app

            settings = _chosen()
            store = Store(settings.db) if _store is None else _store
            _app = build_app(store, settings, report=launched().report)
        return _app


def opened_app() -> App | None:
    """The app of this process where it is open already."""
    return _app


def use_app(app: App | None) -> None:
    """Have the pages use this app, which the caller closes; None: the next look opens one anew."""
    global _app  # noqa: PLW0603
    with _opening:
        _app = app


def visitor() -> str:
    """Who looks at the page: one browser tab, as the page host tells them apart; "" outside a page."""
    context = get_script_run_ctx(suppress_warning=True)
    return "" if context is None else context.session_id


def warm_up() -> None:
    """Open the app and the first catalog in the background, so that the first visitor does not wait."""
    _drawn.clear()
    threading.Thread(target=_warm_up, name="wayfare-warm", daemon=True).start()


def _warm_up() -> None:
    with suppress(WayfareError):  # the first visitor reads the sentence
        app = current_app()
        app.make_ready(first_catalog())
        if _drawn.wait(FIRST_VISITOR_S):
            time.sleep(PAUSE_S)
        if opened_app() is app:
            app.open_the_rest(first_catalog())


def page_drawn() -> None:
    """The first visitor has a page: the processor is free for what the next one needs."""
    _drawn.set()


def close_app() -> None:
    """Commit and release everything; called when the server stops."""
    global _app, _store  # noqa: PLW0603
    _drawn.set()
    with _opening:
        for opened in (_app, _store):
            if opened is not None:
                opened.close()
        _app = _store = None


def first_catalog() -> str:
    """The catalog that is shown first."""
    return _chosen().catalog
