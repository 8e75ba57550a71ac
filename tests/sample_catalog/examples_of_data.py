"""One call with a known outcome for every tool over files, tables, texts and JSON."""

from .checks import E, embeds, gives, has, rows, whole

PEOPLE = "name,city,age\nAda,Lyon,30\nBen,Cork,20\nCleo,Lyon,40\n"
SALES = "month,shop,amount\nJan,A,1\nJan,B,2\nFeb,A,3\nFeb,A,4\n"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

OF_DATA: dict[str, E] = {
    # files
    "sandbox-files::list_directory": E(
        {}, rows(path=["notes", "shopping.csv", "welcome.txt"], kind=["folder", "file", "file"])
    ),
    "sandbox-files::write_text_file": E({"path": "a/b.txt", "content": "héllo"}, has(path="a/b.txt", size_bytes=6)),
    "sandbox-files::append_to_file": E(
        {"path": "x.txt", "content": "!"}, has(size_bytes=3), (("write_text_file", {"path": "x.txt", "content": "hi"}),)
    ),
    "sandbox-files::search_in_files": E({"text": "MARA"}, rows(path=["notes/ideas.md"], line=[4])),
    "sandbox-files::attach_file": E({"path": "shopping.csv"}, embeds("text/csv", "cheese,2,4.25")),
    "sandbox-files::link_file": E(
        {"path": "notes/ideas.md"},
        lambda result: (
            (result.content[0].type, result.content[0].uri, result.content[0].size)
            == ("resource_link", "sandbox://files/notes/ideas.md", 64)
        ),
    ),
    # the shop
    "larder::list_tables": E({}, whole({"customers": 40, "orders": 360, "products": 24})),
    "larder::run_query": E(
        {"sql": "SELECT name, price_eur FROM products WHERE product_id <= 3 ORDER BY 2", "row_limit": 2},
        whole(
            {"columns": ["name", "price_eur"], "rows": [["Seeded rolls", 3.1], ["Rye loaf", 4.2]], "truncated": True}
        ),
    ),
    # tables
    "csv-tables::filter_rows": E(
        {
            "csv": PEOPLE,
            "conditions": [
                {"column": "city", "operator": "==", "value": "Lyon"},
                {"column": "age", "operator": ">", "value": 35},
            ],
        },
        gives("name,city,age\nCleo,Lyon,40\n"),
    ),
    "csv-tables::join_tables": E(
        {"left_csv": PEOPLE, "right_csv": "city,country\nLyon,France\n", "on": "city", "how": "inner"},
        gives("name,city,age,country\nAda,Lyon,30,France\nCleo,Lyon,40,France\n"),
    ),
    "csv-tables::pivot_table": E(
        {"csv": SALES, "rows": "month", "columns": "shop", "value": "amount"},
        gives("month,A,B\nFeb,7.0,\nJan,1.0,2.0\n"),
    ),
    "csv-tables::csv_to_json": E({"csv": "a,b\n1,x\n2,\n"}, gives([{"a": 1, "b": "x"}, {"a": 2, "b": None}])),
    # text
    "Quillwork::text_statistics": E(
        {"text": "One two. Two three!\n\nFour?"},
        has(words=5, distinct_words=4, sentences=3, paragraphs=2, characters=26),
    ),
    "Quillwork::summarise": E(
        {"text": "Bees make honey. It rained. Honey from bees keeps, and bees know it.", "sentences": 1},
        gives("Honey from bees keeps, and bees know it."),
    ),
    "Quillwork::diff_texts": E(
        {"before": "a\nb", "after": "a\nc", "context": 0}, gives("--- before\n+++ after\n@@ -2 +2 @@\n-b\n+c")
    ),
    # patterns
    "pattern-bench::find_matches": E(
        {"pattern": r"(?P<k>\w+)=(\d+)", "text": "a=1 B=22"},
        rows(text=["a=1", "B=22"], start=[0, 4], end=[3, 8], named_groups=[{"k": "a"}, {"k": "B"}]),
    ),
    "pattern-bench::replace_matches": E(
        {"pattern": r"(\d+)/(\d+)", "text": "3/4 and 5/6", "replacement": r"\2/\1", "limit": 1},
        whole({"text": "4/3 and 5/6", "replacements": 1}),
    ),
    "pattern-bench::explain_pattern": E(
        {"pattern": r"^(ab|\d+)$"}, rows(piece=["^", "(", "ab", "|", r"\d", "+", ")", "$"])
    ),
    # JSON
    "json-workbench::query_path": E(
        {"document": '{"s": [{"p": 1}, {"p": 2, "q": {"p": 3}}]}', "path": "$..p"},
        rows(pointer=["/s/0/p", "/s/1/p", "/s/1/q/p"], value=[1, 2, 3]),
    ),
    "json-workbench::diff_json": E(
        {"before": '{"a": 1, "b": [1, 2]}', "after": '{"b": [1, 3, 4]}'},
        rows(op=["remove", "replace", "add"], path=["/a", "/b/1", "/b/2"], value=[None, 3, 4]),
    ),
    "json-workbench::validate_json": E(
        {"document": '{"n": "x"}', "json_schema": '{"properties": {"n": {"type": "integer"}}, "required": ["m"]}'},
        lambda r: (
            not r.structured_content["valid"] and {p["path"] for p in r.structured_content["problems"]} == {"$", "$.n"}
        ),
    ),
    "json-workbench::infer_schema": E(
        {"document": '{"a": [1, 2.5]}'},
        has(
            type="object",
            properties={"a": {"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "number"}]}}},
        ),
    ),
}
