-- Long commands that have ended, in a console or in a process of their own; columns are the fields of CommandRun in
-- core/domain/lab_runs.py, in their order.

CREATE TABLE command_runs (
    title VARCHAR NOT NULL,
    link VARCHAR NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    took_s DOUBLE NOT NULL,
    why VARCHAR NOT NULL,
    PRIMARY KEY (title, "at")
);
