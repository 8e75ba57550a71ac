-- What people judge of tools for sub-tasks, in named sets; columns are the fields of core/domain/judgment.py, in their order.
-- Append-only: of a set, query, tool and judge the last row counts, and one without a grade takes back.

CREATE TABLE judgments (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    set_name VARCHAR NOT NULL,
    subtask VARCHAR NOT NULL,
    server_hint VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    grade BIGINT,
    judge VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    decision_id VARCHAR
);
