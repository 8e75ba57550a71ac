-- Which pairs of tools of a catalog do the same, as somebody judged them; columns are the fields of
-- core/domain/equal_sets.py::EqualJudgment. The names of a pair stand in alphabetical order; a pair is judged once.

CREATE TABLE equal_judgments (
    catalog VARCHAR NOT NULL,
    one VARCHAR NOT NULL,
    other VARCHAR NOT NULL,
    says VARCHAR NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (catalog, one, other)
);
