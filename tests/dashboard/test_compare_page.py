"""The Compare page: several routers on one sub-task, from a link and by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.routers import ROUTERS
from core.store import Store
from dashboard import session

CATALOG = """{"servers": [
  {"name": "units", "description": "Converts units of measure.", "ask_usd": 0.001, "call_s": 0.2, "tools": [
    {"name": "convert_length", "description": "Converts a length.", "price_usd": 0.001, "latency_s": 0.2},
    {"name": "list_units", "description": "Lists every unit.", "price_usd": 0.001, "latency_s": 0.1}]},
  {"name": "<b>mail</b>", "description": "Sends letters.", "ask_usd": 0.001, "tools": [
    {"name": "send", "description": "Sends a letter to somebody.", "price_usd": 0.002}]}]}"""
ASKED = {"q": "convert miles to kilometres", "catalog": "small"}


def script() -> None:
    from dashboard.views.compare import page

    page()


@pytest.fixture(autouse=True, scope="module")
def console() -> Iterator[Console]:
    store = Store(None)
    with (
        Console(store, CachedEncoder(onnx_source(), store.vectors)) as opened,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        opened.desk.import_text(CATALOG, "small")
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update(query)
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def said(app: AppTest) -> str:
    return "\n".join(part.value for part in app.markdown)


def test_every_router_can_be_compared(console: Console) -> None:
    for router in ROUTERS:
        app = visit(**ASKED, **{"with": f"ehrr,{router}" if router != "ehrr" else "ehrr,rag_mcp"})
        assert not app.error, router
        assert "**2 of 2** choose" in said(app) or "**1 of 2**" in said(app), router
        assert app.dataframe[0].value.columns.tolist()[0] == "tool"


def test_to_compare_records_nothing(console: Console) -> None:
    visit(**ASKED)
    console.store.events.flush()
    assert console.store.activity.decision_count() == 0


def test_a_link_pins_parameters_and_the_url_keeps_them() -> None:
    app = visit(**ASKED, **{"with": "ehrr,ehrr~n=1~alpha_t=0.0"})
    assert "EHRR · n = 1, alpha\\_t = 0.0" in said(app).replace("\\=", "=").replace("\\.", ".") or "n" in said(app)
    assert app.multiselect(key="compare.with").value == ["ehrr", "ehrr~n=1~alpha_t=0.0"]
    assert app.query_params["with"] in ("ehrr,ehrr~n=1~alpha_t=0.0", ["ehrr,ehrr~n=1~alpha_t=0.0"])


@pytest.mark.parametrize(
    ("text", "problem"),
    [("nobody", "There is no router"), ("ehrr~k=0", "outside 1"), ("ehrr~zzz=1", "no parameter"), ("~", "no router")],
)
def test_a_link_that_does_not_fit_is_named_and_the_rest_stands(text: str, problem: str) -> None:
    app = visit(**ASKED, **{"with": f"rag_mcp,{text}"})
    assert problem in app.warning[0].value.replace("\\", "")
    assert app.multiselect(key="compare.with").value == ["rag_mcp"]
    assert "**1 of 1** choose" in said(app)


def test_two_that_agree_say_so_and_two_that_differ_say_why() -> None:
    assert "same candidates" in visit(**ASKED, **{"with": "rag_mcp,full_catalog"}).success[0].value
    app = visit(**ASKED, **{"with": "ehrr,ehrr~n=1"})
    assert "Outranked" in said(app)


def test_names_of_strangers_are_text() -> None:
    assert "<b>mail" not in said(visit(q="send a letter", catalog="small"))


def test_without_a_sub_task_there_are_examples_and_without_routers_a_hint() -> None:
    assert "What" in visit(catalog="small").text_input[0].label
    app = visit(**ASKED)
    checked(app.multiselect(key="compare.with").set_value([]).run())
    assert "Choose the routers" in app.info[0].value
