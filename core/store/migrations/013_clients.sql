-- Clients of the endpoint and the operator's policy; columns are the fields of core/domain/events.py, in their order.
-- Append-only: of a client, and of the policy, the last row counts. A token is kept as its SHA-256 alone.

CREATE TABLE client_changes (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    client VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    token_hash VARCHAR NOT NULL,
    scope_json VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);

CREATE TABLE policy_changes (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    digest VARCHAR NOT NULL,
    toml VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);
