-- Example requests of tools; columns are the fields of core/domain/tasks.py::RequestChange, in their order. Append-only: an entry
-- takes requests away where `removed` is true, and undoes a batch that it names in `undoes`.

CREATE TABLE request_changes (
    sequence BIGINT NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    batch VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    requests_json VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    definition VARCHAR NOT NULL,
    removed BOOLEAN NOT NULL,
    visitor VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    undoes VARCHAR NOT NULL
);
