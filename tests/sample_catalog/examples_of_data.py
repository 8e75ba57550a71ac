"""One call with a known outcome for every tool over files, tables, texts and JSON."""

from .checks import E, best_dairy, embeds, gives, has, near, revenue_per_quarter, rows, says, whole

PEOPLE = "name,city,age\nAda,Lyon,30\nBen,Cork,20\nCleo,Lyon,40\n"
SALES = "month,shop,amount\nJan,A,1\nJan,B,2\nFeb,A,3\nFeb,A,4\n"
EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

OF_DATA: dict[str, E] = {
    # files
    "sandbox-files::list_directory": E(
        {}, rows(path=["notes", "shopping.csv", "welcome.txt"], kind=["folder", "file", "file"])
    ),
    "sandbox-files::read_text_file": E(
        {"path": "shopping.csv", "first_line": 2, "line_count": 1}, gives("apples,6,0.40\n")
    ),
    "sandbox-files::write_text_file": E({"path": "a/b.txt", "content": "héllo"}, has(path="a/b.txt", size_bytes=6)),
    "sandbox-files::append_to_file": E(
        {"path": "x.txt", "content": "!"}, has(size_bytes=3), (("write_text_file", {"path": "x.txt", "content": "hi"}),)
    ),
    "sandbox-files::make_directory": E({"path": "deep/down"}, has(path="deep/down", kind="folder")),
    "sandbox-files::move_path": E({"source": "welcome.txt", "destination": "old/hello.txt"}, has(path="old/hello.txt")),
    "sandbox-files::delete_path": E(
        {"path": "old.txt"}, gives("deleted old.txt"), (("write_text_file", {"path": "old.txt", "content": "x"}),)
    ),
    "sandbox-files::find_files": E({"pattern": "*.md"}, rows(path=["notes/ideas.md"])),
    "sandbox-files::search_in_files": E({"text": "MARA"}, rows(path=["notes/ideas.md"], line=[4])),
    "sandbox-files::file_checksum": E(
        {"path": "e"}, gives(EMPTY_SHA256), (("write_text_file", {"path": "e", "content": ""}),)
    ),
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
    "larder::describe_table": E(
        {"table": "customers"}, rows(name=["customer_id", "name", "city", "joined", "newsletter"])
    ),
    "larder::run_query": E(
        {"sql": "SELECT name, price_eur FROM products WHERE product_id <= 3 ORDER BY 2", "row_limit": 2},
        whole(
            {"columns": ["name", "price_eur"], "rows": [["Seeded rolls", 3.1], ["Rye loaf", 4.2]], "truncated": True}
        ),
    ),
    "larder::explain_query": E({"sql": "SELECT count(*) FROM orders WHERE quantity > 2"}, says("orders", "quantity")),
    "larder::sample_rows": E(
        {"table": "products", "count": 1}, lambda r: r.structured_content["rows"][0][1:4] == ["Rye loaf", "bread", 4.2]
    ),
    "larder::best_sellers": E({"category": "dairy", "count": 2}, best_dairy),
    "larder::revenue_by_period": E({"period": "quarter"}, revenue_per_quarter),
    # tables
    "csv-tables::describe_csv": E(
        {"csv": PEOPLE}, rows(type=["text", "text", "number"], distinct=[3, 2, 3], mean=[None, None, 30.0])
    ),
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
    "csv-tables::sort_rows": E(
        {"csv": PEOPLE, "columns": ["age"], "descending": True},
        gives("name,city,age\nCleo,Lyon,40\nAda,Lyon,30\nBen,Cork,20\n"),
    ),
    "csv-tables::select_columns": E(
        {"csv": PEOPLE, "columns": ["age", "name"]}, gives("age,name\n30,Ada\n20,Ben\n40,Cleo\n")
    ),
    "csv-tables::group_and_aggregate": E(
        {"csv": SALES, "group_by": ["shop"], "value": "amount"}, gives("shop,amount\nA,8\nB,2\n")
    ),
    "csv-tables::join_tables": E(
        {"left_csv": PEOPLE, "right_csv": "city,country\nLyon,France\n", "on": "city", "how": "inner"},
        gives("name,city,age,country\nAda,Lyon,30,France\nCleo,Lyon,40,France\n"),
    ),
    "csv-tables::pivot_table": E(
        {"csv": SALES, "rows": "month", "columns": "shop", "value": "amount"},
        gives("month,A,B\nFeb,7.0,\nJan,1.0,2.0\n"),
    ),
    "csv-tables::drop_duplicate_rows": E(
        {"csv": PEOPLE, "columns": ["city"]}, gives("name,city,age\nAda,Lyon,30\nBen,Cork,20\n")
    ),
    "csv-tables::csv_to_json": E({"csv": "a,b\n1,x\n2,\n"}, gives([{"a": 1, "b": "x"}, {"a": 2, "b": None}])),
    "csv-tables::csv_to_markdown": E({"csv": "a,b\n1,x|y\n"}, gives("| a | b |\n| --- | --- |\n| 1 | x\\|y |")),
    "csv-tables::change_delimiter": E({"text": "a;b\n1;2\n"}, gives("a,b\n1,2\n")),
    # text
    "Quillwork::text_statistics": E(
        {"text": "One two. Two three!\n\nFour?"},
        has(words=5, distinct_words=4, sentences=3, paragraphs=2, characters=26),
    ),
    "Quillwork::readability": E(
        {"text": "The cat sat. The dog ran."},
        has(words_per_sentence=3.0, syllables_per_word=1.0, flesch_reading_ease=119.2),
    ),
    "Quillwork::keywords": E(
        {"text": "Rivers carry sand. The rivers of the north carry ice.", "count": 2},
        rows(word=["carry", "rivers"], count=[2, 2]),
    ),
    "Quillwork::summarise": E(
        {"text": "Bees make honey. It rained. Honey from bees keeps, and bees know it.", "sentences": 1},
        gives("Honey from bees keeps, and bees know it."),
    ),
    "Quillwork::change_case": E({"text": "maxRetry count", "style": "snake"}, gives("max_retry_count")),
    "Quillwork::slugify": E({"text": "  Große Äpfel, 2 kg!"}, gives("grosse-apfel-2-kg")),
    "Quillwork::diff_texts": E(
        {"before": "a\nb", "after": "a\nc", "context": 0}, gives("--- before\n+++ after\n@@ -2 +2 @@\n-b\n+c")
    ),
    "Quillwork::similarity": E({"first": "abcd", "second": "bcde"}, near(0.75)),
    "Quillwork::wrap_lines": E({"text": "one two three four", "width": 10}, gives("one two\nthree four")),
    "Quillwork::tidy": E({"text": " b \n\na  c\nb", "sort": True, "unique": True}, gives("a c\nb")),
    "Quillwork::find_and_replace": E({"text": "a.b.c", "find": ".", "replacement": "-"}, gives("a-b-c")),
    "Quillwork::fingerprint_text": E({"text": "  "}, gives(EMPTY_SHA256)),
    # patterns
    "pattern-bench::find_matches": E(
        {"pattern": r"(?P<k>\w+)=(\d+)", "text": "a=1 B=22"},
        rows(text=["a=1", "B=22"], start=[0, 4], end=[3, 8], named_groups=[{"k": "a"}, {"k": "B"}]),
    ),
    "pattern-bench::extract": E(
        {"text": "Write to a.b@mail.example, again a.b@mail.example.", "what": "email"}, gives(["a.b@mail.example"])
    ),
    "pattern-bench::replace_matches": E(
        {"pattern": r"(\d+)/(\d+)", "text": "3/4 and 5/6", "replacement": r"\2/\1", "limit": 1},
        whole({"text": "4/3 and 5/6", "replacements": 1}),
    ),
    "pattern-bench::split_by_pattern": E({"pattern": r"\s*[;,]\s*", "text": "a , b;c"}, gives(["a", "b", "c"])),
    "pattern-bench::check_candidates": E(
        {"pattern": "[a-z]+", "candidates": ["ab", "Ab", "a1"], "flags": ["ignore_case"]},
        rows(matches=[True, True, False]),
    ),
    "pattern-bench::explain_pattern": E(
        {"pattern": r"^(ab|\d+)$"}, rows(piece=["^", "(", "ab", "|", r"\d", "+", ")", "$"])
    ),
    "pattern-bench::escape_text": E({"text": "1+1?"}, gives(r"1\+1\?")),
    # JSON
    "json-workbench::get_value": E({"document": '{"a/b": [1, {"c": 5}]}', "pointer": "/a~1b/1/c"}, has(value=5)),
    "json-workbench::query_path": E(
        {"document": '{"s": [{"p": 1}, {"p": 2, "q": {"p": 3}}]}', "path": "$..p"},
        rows(pointer=["/s/0/p", "/s/1/p", "/s/1/q/p"], value=[1, 2, 3]),
    ),
    "json-workbench::diff_json": E(
        {"before": '{"a": 1, "b": [1, 2]}', "after": '{"b": [1, 3, 4]}'},
        rows(op=["remove", "replace", "add"], path=["/a", "/b/1", "/b/2"], value=[None, 3, 4]),
    ),
    "json-workbench::apply_patch": E(
        {
            "document": '{"a": [1, 2]}',
            "changes": [{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/a/0"}],
        },
        gives('{"a": [2, 3]}'),
    ),
    "json-workbench::merge_documents": E(
        {"base": '{"a": {"x": 1, "y": 2}}', "overlay": '{"a": {"x": null}, "b": 3}'}, gives('{"a": {"y": 2}, "b": 3}')
    ),
    "json-workbench::flatten_json": E({"document": '{"a": {"b": [1, {}]}}'}, whole({"a.b.0": 1, "a.b.1": {}})),
    "json-workbench::unflatten_json": E({"document": '{"a.b": 1, "a.c": 2}'}, whole({"a": {"b": 1, "c": 2}})),
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
    "json-workbench::format_json": E(
        {"document": '{"b": 1, "a": "ü"}', "indent": 0, "sort_keys": True}, gives('{"a":"ü","b":1}')
    ),
}
