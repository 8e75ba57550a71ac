"""Page state in the URL: what a link says, what a page keeps while another one is open, and whose query it is."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def script() -> None:
    import streamlit as st

    from dashboard.widgets.url_state import UrlState

    state = UrlState(st.session_state.get("page", "one"))
    kept = state.begin()
    st.session_state["kept"] = kept
    st.session_state.setdefault(state.key("q"), kept.get("q", ""))
    state.end({"q": st.text_input("q", key=state.key("q")), "nothing": ""})


def visit(**query: str) -> AppTest:
    return arrive(AppTest.from_function(script), **query)


def arrive(app: AppTest, **query: str) -> AppTest:
    """The page after it was opened with this query."""
    app.query_params.clear()
    app.query_params.update(query)
    return checked(app.run())


def turn_to(app: AppTest, page: str, **query: str) -> AppTest:
    """Another page of the same visitor."""
    app.session_state["page"] = page
    return arrive(app, **query)


def typed(app: AppTest, text: str) -> AppTest:
    return checked(app.text_input[0].set_value(text).run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception
    return app


def test_a_link_fills_the_page_and_what_says_nothing_stays_out_of_the_url() -> None:
    app = visit(q="hello", stranger="x")
    assert app.session_state["kept"] == {"q": "hello", "stranger": "x"}
    assert app.text_input[0].value == "hello"
    assert app.query_params == {"q": "hello"}


def test_what_is_typed_goes_into_the_url_and_out_of_it() -> None:
    app = typed(visit(), "hello")
    assert app.query_params == {"q": "hello"}
    assert checked(app.run()).text_input[0].value == "hello"
    assert typed(app, "").query_params == {}


def test_a_page_that_was_left_comes_back_as_it_was() -> None:
    app = turn_to(typed(visit(), "mine"), "two")
    assert (app.text_input[0].value, app.query_params) == ("", {})
    typed(app, "yours")
    back = turn_to(app, "one")
    assert back.session_state["kept"] == {"q": "mine"}
    assert (back.text_input[0].value, back.query_params) == ("mine", {"q": "mine"})
    assert turn_to(back, "two").text_input[0].value == "yours"


def test_a_url_changed_from_outside_replaces_what_stands_in_the_widgets() -> None:
    app = typed(visit(), "typed")
    assert arrive(app, q="linked").text_input[0].value == "linked"
    assert app.query_params == {"q": "linked"}
    assert typed(app, "typed again").query_params == {"q": "typed again"}
    assert checked(app.run()).text_input[0].value == "typed again"


def test_a_new_url_touches_no_other_pages_keys() -> None:
    app = visit(q="mine")
    app.session_state["one.more"] = app.session_state["onefold"] = app.session_state["two.q"] = "x"
    app.session_state["two:kept"] = {"q": "yours"}
    arrive(app, q="linked")
    assert "one.more" not in app.session_state
    assert app.session_state["onefold"] == app.session_state["two.q"] == "x"
    assert app.session_state["two:kept"] == {"q": "yours"}


def test_the_query_of_the_page_just_left_is_not_taken_for_a_link() -> None:
    app = turn_to(typed(visit(q="mine"), "left over"), "two", q="left over")
    assert app.session_state["kept"] == {}
    assert app.text_input[0].value == ""
    assert turn_to(app, "one").text_input[0].value == "left over"
