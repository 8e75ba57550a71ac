"""Page state in the URL: a link's values, a page's values while another page is open, and the query's owner."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def script() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from dashboard.ui.url_state import UrlState

    get_script_run_ctx().is_history_navigation = st.session_state.get("moved", False)
    state = UrlState(st.session_state.get("page", "one"))
    texts = state.begin()
    st.session_state["kept"] = texts
    st.session_state.setdefault(state.key("q"), texts.get("q", ""))
    state.end({"q": st.text_input("q", key=state.key("q")), "nothing": ""})


def visit(**query: str) -> AppTest:
    return arrive(AppTest.from_function(script), **query)


def arrive(page: AppTest, **query: str) -> AppTest:
    """The page after it was opened with this query, or Back or Forward led to it."""
    page.session_state["moved"] = True
    late(page, **query)
    page.session_state["moved"] = False
    return page


def late(page: AppTest, **query: str) -> AppTest:
    """The page after a press in a browser that still has this query."""
    page.query_params.clear()
    page.query_params.update(query)
    return checked(page.run())


def turn_to(page: AppTest, name: str, **query: str) -> AppTest:
    """Another page of the same visitor."""
    page.session_state["page"] = name
    return arrive(page, **query)


def typed(page: AppTest, text: str) -> AppTest:
    return checked(page.text_input[0].set_value(text).run())


def checked(page: AppTest) -> AppTest:
    assert not page.exception
    return page


def test_a_link_fills_the_page_and_what_says_nothing_stays_out_of_the_url() -> None:
    page = visit(q="hello", stranger="x")
    assert page.session_state["kept"] == {"q": "hello", "stranger": "x"}
    assert page.text_input[0].value == "hello"
    assert page.query_params == {"q": "hello"}


def test_what_is_typed_goes_into_the_url_and_out_of_it() -> None:
    page = typed(visit(), "hello")
    assert page.query_params == {"q": "hello"}
    assert checked(page.run()).text_input[0].value == "hello"
    assert typed(page, "").query_params == {}


def test_a_page_that_was_left_comes_back_as_it_was() -> None:
    page = turn_to(typed(visit(), "mine"), "two")
    assert (page.text_input[0].value, page.query_params) == ("", {})
    typed(page, "yours")
    back = turn_to(page, "one")
    assert back.session_state["kept"] == {"q": "mine"}
    assert (back.text_input[0].value, back.query_params) == ("mine", {"q": "mine"})
    assert turn_to(back, "two").text_input[0].value == "yours"


def test_a_url_changed_from_outside_replaces_what_stands_in_the_widgets() -> None:
    page = typed(visit(), "typed")
    assert arrive(page, q="linked").text_input[0].value == "linked"
    assert page.query_params == {"q": "linked"}
    assert typed(page, "typed again").query_params == {"q": "typed again"}
    assert checked(page.run()).text_input[0].value == "typed again"


def test_a_url_that_the_browser_says_before_it_has_heard_the_newest_is_no_link() -> None:
    page = typed(typed(visit(), "first"), "second")
    assert late(page, q="first").text_input[0].value == "second"
    assert page.query_params == {"q": "second"}
    assert late(page).text_input[0].value == "second"
    page.text_input[0].set_value("third")
    assert late(page, q="first").text_input[0].value == "third"
    assert arrive(page, q="first").text_input[0].value == "first"


def test_a_new_url_touches_no_other_pages_keys() -> None:
    page = visit(q="mine")
    page.session_state["one.more"] = page.session_state["onefold"] = page.session_state["two.q"] = "x"
    page.session_state["two:kept"] = {"q": "yours"}
    arrive(page, q="linked")
    assert "one.more" not in page.session_state
    assert page.session_state["onefold"] == page.session_state["two.q"] == "x"
    assert page.session_state["two:kept"] == {"q": "yours"}


def test_the_query_of_the_page_just_left_is_not_taken_for_a_link() -> None:
    page = turn_to(typed(visit(q="mine"), "left over"), "two", q="left over")
    assert page.session_state["kept"] == {}
    assert page.text_input[0].value == ""
    assert turn_to(page, "one").text_input[0].value == "left over"


def asking() -> None:
    import streamlit as st
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from dashboard.ui.url_state import UrlState

    get_script_run_ctx().is_history_navigation = st.session_state.get("moved", False)
    state = UrlState(st.session_state.get("page", "one"), asks=True, of_answer=("tool",))
    kept_texts = state.begin()
    for name in ("q", "own", "tool"):
        st.session_state.setdefault(state.key(name), kept_texts.get(name, ""))
    texts = {name: st.text_input(name, key=state.key(name)) for name in ("q", "own", "tool")}
    state.end(texts, question={"q": texts["q"]})


def shown(page: AppTest) -> list[str]:
    return [field.value for field in page.text_input]


def test_a_question_goes_along_to_pages_that_ask_and_what_was_about_its_answer_goes() -> None:
    page = arrive(AppTest.from_function(asking), q="mine", own="a", tool="x")
    assert shown(turn_to(page, "two")) == ["mine", "", ""]
    assert page.query_params == {"q": "mine"}
    assert shown(turn_to(page, "one")) == ["mine", "a", "x"]  # the question is the same: all is as it was left
    turn_to(page, "two")
    checked(page.text_input[0].set_value("yours").run())
    assert shown(turn_to(page, "one")) == ["yours", "a", ""]
    assert shown(arrive(page, q="linked")) == ["linked", "", ""]
    assert shown(turn_to(page, "two")) == ["linked", "", ""]


def test_back_leads_to_the_empty_start_where_there_was_one() -> None:
    page = arrive(AppTest.from_function(asking))
    checked(page.text_input[0].set_value("mine").run())
    assert shown(arrive(page)) == ["", "", ""]
    linked = arrive(AppTest.from_function(asking), q="mine")
    assert shown(late(linked)) == ["mine", "", ""]
