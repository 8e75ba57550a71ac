-- Requests that governance did not let through; columns are the fields of core/domain/events.py, in their order.

CREATE TABLE refused_requests (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    client VARCHAR NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    error VARCHAR NOT NULL,
    why VARCHAR NOT NULL,
    advice VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    repeated BIGINT NOT NULL
);
