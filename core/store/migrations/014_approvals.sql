-- Definitions that were used, approved or denied, and calls that waited for a person; columns are the fields of
-- core/domain/events.py, in their order. Append-only: of a tool, and of an approval's id, the last row counts.

CREATE TABLE definition_changes (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    definition_json VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);

CREATE TABLE approval_changes (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    id VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    client VARCHAR NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    arguments_digest VARCHAR NOT NULL,
    definition_digest VARCHAR NOT NULL,
    policy_digest VARCHAR NOT NULL,
    arguments_json VARCHAR NOT NULL,
    reasons VARCHAR NOT NULL,
    price_usd DOUBLE,
    expires_at TIMESTAMPTZ NOT NULL,
    origin VARCHAR NOT NULL
);
