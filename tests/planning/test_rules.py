"""Rules: which requests a question holds, in which parts it is taken, and how else it is put."""

from __future__ import annotations

from statistics import fmean

from hypothesis import given, settings
from hypothesis import strategies as st

import sample_catalog
from core.domain.tasks import Task
from core.importers import read_tasks
from core.planning.base import Card
from core.planning.decomposition import complexity, decompose
from core.planning.rules import RulesPlanner, expand, objection, predict_tool, rewrite, select
from core.planning.words import kind_of, masked
from tests.cases import each

RULES = RulesPlanner()


@each(
    ("question", "parts"),
    [
        ("Find the report and mail it to Bo.", ["Find the report", "mail it to Bo"]),
        ("Crawl the site, stamp 'DRAFT' on it; then boil it down", ["Crawl the site", "stamp 'DRAFT' on it", "boil it down"]),
        ("What is the weather in Oslo and how far is it to Bergen?", ["What is the weather in Oslo", "how far is it to Bergen?"]),
        ("The fair is near. I need a room there. Please book me a table, too.", ["I need a room there", "book me a table, too"]),
        ("Is it dry? Does it rain?", ["Is it dry?", "Does it rain?"]),
        ("Check 'find it, and send it' and mail the rest", ["Check 'find it, and send it'", "mail the rest"]),
        ("Say hello to a@b.example, and open https://x.example/a,and,send", ["Say hello to a@b.example", "open https://x.example/a,and,send"]),
    ],
)  # fmt: skip
def test_a_question_is_cut_where_requests_open(question, parts):
    assert [query.text for query in decompose(question)] == parts


@each(
    "question",
    [
        "Buy bread and butter",
        "Find trains between Paris and Rome, second class",
        "Check and correct the text",
        "List the files that Ana and Bo changed",
        "Which papers, books and talks does he name?",
        "Dr. Lind wants the plan",
        "Finde den Bericht und schicke ihn an Bo",
        "读取文件,发送给他",
        "",
        "...",
    ],
)
def test_what_is_one_request_stays_whole(question):
    assert [query.text for query in decompose(question)] == [question.strip()]


PA_RAG_EXAMPLE = (
    "Find today's top 5 gainers. then use Firecrawl to search web of each company and extract the latest content of results. "
    "Finally, create a new Excel worksheet and insert the crawled results into it."
)


@each(
    ("question", "needs"),
    [
        ("Find the report and mail it to Bo", [(), (0,)]),
        ("Book a room in Oslo, check my mail", [(), ()]),
        ("Find a report on reefs, look up trains to Oslo, mail the report to Bo", [(), (), (0,)]),
        ("Draw a chart then look up trains", [(), (0,)]),
        ("Look up trains, then draw a chart of those", [(), (0,)]),
        (PA_RAG_EXAMPLE, [(), (0,), (1,), (), (2, 3)]),  # the results, and the worksheet
    ],
)
def test_a_part_needs_what_it_names_again_or_points_back_to(question, needs):
    assert [query.needs for query in decompose(question)] == needs


def test_a_place_that_is_named_once_goes_with_every_part():
    texts = [
        query.text for query in decompose("On git-forge, in the shop: make a branch, open a PR. Mail the link to Bo")
    ]
    assert texts == [
        f"On git-forge in the shop: {text}" for text in ("make a branch", "open a PR", "Mail the link to Bo")
    ]


def test_what_is_beyond_the_limit_stays_with_the_last_part():
    question = "Find a report, mail a letter, draw a chart, book a room"
    assert [query.text for query in decompose(question, 3)] == [
        "Find a report",
        "mail a letter",
        "draw a chart, book a room",
    ]
    assert [query.text for query in decompose(question, 1)] == [question]


def test_literals_are_held_back_without_moving_anything():
    text = 'send `rm -rf, and go` and "a, then b" to x@y.example, see https://a.example/b.'
    assert len(masked(text)) == len(text)
    assert not {"rm", "then", "example"} & set(masked(text).split())
    assert masked(text).endswith(".")


@each(
    ("question", "kind"),
    [
        ("Do I need an umbrella in Oslo?", "weather"),
        ("Translate this to Dutch", "translation"),
        ("Who founded the first luxury goods company?", "web search"),
        ("Mail the umbrella", ""),
        ("Do it", ""),
        ('Send "umbrella"', ""),
    ],
)
def test_the_kind_of_server_is_named_where_words_point_to_one(question, kind):
    assert kind_of(question) == kind
    assert predict_tool(question).startswith(f"{kind}: ") is bool(kind)


@each(
    ("question", "rewritten"),
    [
        ("Hi there! Could you please list my files? Thanks a lot!", "list my files?"),
        ("Thanks", "Thanks"),
        ("\r\x00", "\x00"),
        ('translate "could you please" to Dutch', 'translate "could you please" to Dutch'),
        ("list\x00my\x1b[2Jfiles", "list my [2Jfiles"),
        ("They thanked us and asked please", "They thanked us and asked"),
    ],
)
def test_courtesy_goes_and_literals_stay(question, rewritten):
    assert rewrite(question) == rewritten


def test_other_wordings_are_new_ones_and_at_most_as_many_as_asked_for():
    question = "Please translate notes.md into Dutch"
    assert len(expand(question)) == len(set(expand(question)) - {question}) == 3
    assert expand(question, 1) == expand(question)[:1]
    assert expand(question, 0) == expand("zzz") == ()


def test_more_requests_more_servers_and_more_words_make_a_question_more_complex():
    simple = complexity("find a hotel", ["hotel rooms"])
    harder = complexity("find a hotel and mail a letter", ["hotel rooms", "mail letters"])
    assert simple.score < complexity("find a hotel and mail a letter", []).score < harder.score
    assert simple.score < complexity("find a hotel" + " of old wood" * 9, ["hotel rooms"]).score
    assert harder.evidence == ("2 requests", "they fit 2 of 2 servers best", "7 words")


def test_a_long_question_that_asks_for_one_thing_stays_simple():
    assert complexity("Find a quiet hotel " + "by a lake with boats " * 200, []).label == "simple"


CARDS = [Card("a::x", "send an e-mail", 0.5), Card("b::y", "send a letter", 0.41), Card("c::z", "send", 0.39)]


def test_the_best_and_what_comes_near_it_is_taken():
    assert select("send an e-mail", CARDS[::-1], 5).ids == ("a::x", "b::y")
    assert select("send an e-mail", CARDS, 1).ids == ("a::x",)
    assert select("send an e-mail", CARDS, 0).ids == ()
    ties = [Card("b::b", "send", 0.5), Card("a::a", "send", 0.5)]
    assert select("send it", ties, 2).ids == ("b::b", "a::a")


def test_what_nothing_fits_is_refused_with_the_figures_and_a_limit_between():
    refused = select("Taste my soup", [Card("a::x", "search recipes", 0.2)], 3)
    assert (refused.ids, refused.reason) == (
        (),
        "Nothing offered fits: the best is 0.20 similar, and 0 % of the words are met.",
    )
    assert select("anything", [], 3).ids == ()
    assert objection("soup", 0.299, ["x"])
    assert not objection("soup", 0.301, ["x"])
    assert not objection("soup", 0.0, ["soup"])


QUESTIONS = st.one_of(
    st.text(max_size=300),
    st.lists(st.sampled_from(["find", "it", "and", ",", "then", "the", "list", "'", '"', ".", "Oslo", "\n", "a@b.c", ":"]), max_size=60).map(" ".join),
)  # fmt: skip


@settings(max_examples=60)
@given(QUESTIONS, st.integers(1, 8))
def test_any_question_has_an_answer_and_the_same_one_each_time(question, limit):
    parts = RULES.decompose(question, limit)
    assert parts == RulesPlanner().decompose(question, limit)
    assert 1 <= len(parts) <= limit
    assert all(need < place for place, query in enumerate(parts) for need in query.needs)
    assert 0 <= RULES.complexity(question, ["weather in towns", "mail"]).score <= 1
    for reply in (RULES.predict_tool(question), RULES.rewrite(question), RULES.request(question).tool):
        assert reply.strip() or not question.strip()
    assert all(way.strip() for way in RULES.expand(question)) or not question.strip()


@each("unit", ["'", "a@", "x,", "it and find the ", "«", "\t ", "thanks "])
def test_twenty_thousand_characters_of_anything_are_read(unit):
    question = (unit * 20_000)[:20_000]
    assert RULES.decompose(question)
    assert RULES.expand(question) is not None


def tasks(name: str) -> tuple[Task, ...]:
    return read_tasks((sample_catalog.TASKS_DIR / f"{name}.jsonl").read_bytes(), source=name)


@each(
    ("name", "right"),
    [("l3_within_server", 0.45), ("l4_across_servers", 0.40), ("pa_rag_complex", 0.35), ("pa_rag_simple", 0.65)],
)
def test_the_number_of_parts_is_that_of_the_plan_as_often_as_before(name, right):
    assert fmean(len(RULES.decompose(task.question)) == len(task.plan) for task in tasks(name)) >= right


@each(
    ("name", "label", "right"),
    [
        ("l1_direct", "simple", 0.95),
        ("l2_context", "simple", 0.93),
        ("pa_rag_simple", "simple", 0.90),
        ("pa_rag_complex", "complex", 0.85),
        ("l4_across_servers", "complex", 0.72),
    ],
)
def test_questions_are_labelled_as_often_as_before(name, label, right):
    assert fmean(RULES.complexity(task.question, ()).label == label for task in tasks(name)) >= right
