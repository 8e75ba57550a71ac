"""The app of this process with its services, opened once with the settings of the start."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from core.domain.console import Owner, announced
from core.domain.errors import WayfareError
from core.domain.events import origin_of
from core.domain.execution import SESSION_OWNER, SessionOwner
from core.domain.people import Person, Right, ask_pages, person
from core.domain.settings import Settings, launched
from core.store import Store
from core.store.connection import CONSOLE
from dashboard.page_host import visitor

if TYPE_CHECKING:
    from core.app import App
    from core.catalogs.background_jobs import Job

FIRST_VISITOR_S = 20.0  # the time to wait for a first visitor
PAUSE_S = 2.0  # the browser fetches and draws after the page's script has ended

_opening = threading.RLock()
_drawn = threading.Event()
_store: Store | None = None
_app: App | None = None


def person_at_page() -> Person | None:
    """Returns the person who is signed in at the page of this thread, None outside a page and without sign-in."""
    if not launched().sign_in or not visitor():
        return None
    sign_ins = current_app().governance.sign_ins
    return sign_ins.person(st.context.cookies.get(sign_ins.cookie, ""))


ask_pages(person_at_page)


def operator() -> str:
    return person().name


def origin() -> str:
    """Returns the origin of changes at a page, with the signed-in operator."""
    return origin_of("console", operator())


def only(right: Right, **looks: Any) -> dict[str, Any]:
    """Returns the arguments of a control that takes a right. Without it the control is disabled, and gives the reason. The services refuse in any
    case."""
    reason = person().refusal(right)
    return {**looks, "disabled": True, "help": reason} if reason else looks


def announcement(key: str) -> AbstractContextManager[None]:
    """Returns a context that announces the address of this process and the key for commands to other processes."""
    launch, settings = launched(), _chosen()
    if not launch.url:
        return nullcontext()
    since = settings.now().isoformat()
    owner = Owner(launch.url, key, os.getpid(), since, launch.started_by, launch.idle_s, version("wayfare"))
    return announced(settings.db, owner)


def _chosen() -> Settings:
    return launched().settings or Settings.from_environment()


def open_store() -> None:
    """Open the store before the console is announced as ready."""
    global _store  # noqa: PLW0603 - one process, one store, one app
    with _opening:
        if _store is None and _app is None:
            _store = Store(_chosen().db, sharing=CONSOLE)


def current_app() -> App:
    global _app  # noqa: PLW0603
    with _opening:
        if _app is None:
            from core.app import build_app

            settings = _chosen()
            store = Store(settings.db, sharing=CONSOLE) if _store is None else _store
            _app = build_app(store, settings, report=launched().report)
        return _app


def opened_app() -> App | None:
    """Returns the app of this process if it is open, else None."""
    return _app


def use_app(app: App | None) -> App | None:
    """Let the pages use this app; with None the next use opens a new app. Returns the previous app, which the caller closes."""
    global _app
    with _opening:
        previous, _app = _app, app
    return previous


def use_own_sessions() -> None:
    """Lets calls of this page use sessions with servers that belong to this browser tab."""
    SESSION_OWNER.set(SessionOwner(f"page {visitor()}", f"page {visitor()[:6]}"))


def known_job(key: str) -> Job | None:
    """Returns the background job that this page started, or, as after a reload, the operator's job under way."""
    job: Job | None = st.session_state.get(key)
    if job is None and (job := current_app().background.under_way(_owned(key))) is not None:
        st.session_state[key] = job
    return job


def job_about(key: str, about: object) -> Job | None:
    """Returns the operator's newest job of this key with this input, under way or ended, because a result outlasts its page."""
    return current_app().background.of(_owned(key), about)


def start_job(key: str, work: Callable[[Job], object], about: Any = None, *, title: str = "", of: int = 0) -> None:
    """Start a background job. If the operator has a job of this key under way, the page takes that job."""
    job = current_app().background.start(_owned(key), work, about, title=title, of=of, link=here())
    st.session_state[key] = job


def here() -> str:
    """Returns the address of the view on the page, with its state, without a base path."""
    view, query = urlsplit(st.context.url or "").path.rpartition("/")[2], urlencode(dict(st.query_params.items()))
    return f"/{view}?{query}" if query else f"/{view}"


def _owned(key: str) -> str:
    return f"{key} {operator()}"


def warm_up() -> None:
    """Open the app and the first catalog in the background, before the first visitor."""
    _drawn.clear()
    threading.Thread(target=_warm_up, name="wayfare-warm", daemon=True).start()


def _warm_up() -> None:
    from core.relevance.scoring import language_of

    with suppress(WayfareError):  # the first visitor gets the error
        app = current_app()
        app.upkeep.start()  # clients of mirrors are told of changes, however long the rest takes
        # its model is unpacked beside the catalog
        threading.Thread(target=language_of, args=("warm up",), daemon=True).start()
        job = app.readiness.begin(first_catalog())
        # words decide while it takes longer, and the rest need not wait for vectors
        if job is not None and job.wait(FIRST_VISITOR_S) and job.error is None:
            app.background.forget(job)
        if _drawn.wait(FIRST_VISITOR_S):
            time.sleep(PAUSE_S)
        if opened_app() is app:
            app.open_the_rest()


def page_drawn() -> None:
    """Note that the first page is drawn, so that the processor is free for the rest of the start."""
    _drawn.set()


def close_app() -> None:
    """Commit and release everything. Called when the server stops."""
    global _store  # noqa: PLW0603
    _drawn.set()
    with _opening:
        for resource in (use_app(None), _store):
            if resource is not None:
                resource.close()
        _store = None


def ends_when_idle(idle_s: float) -> bool:
    """Ends a console that was started in the background and has not been used for this long. Returns whether it ends."""
    launch, app = launched(), opened_app()
    if not launch.idle_s or idle_s < launch.idle_s or (app is not None and app.background.any_under_way):
        return False
    launch.stop()
    return True


def first_catalog() -> str:
    return _chosen().catalog
