-- Catalogs are one JSON document each, replaced whole. An operator's edits beside them are append-only.

CREATE TABLE catalogs (
    name VARCHAR PRIMARY KEY,
    source VARCHAR NOT NULL,
    servers BIGINT NOT NULL,
    tools BIGINT NOT NULL,
    imported_at TIMESTAMPTZ NOT NULL,
    document VARCHAR NOT NULL
);

CREATE TABLE overrides (
    sequence BIGINT NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    field VARCHAR NOT NULL,
    value DOUBLE,
    "at" TIMESTAMPTZ NOT NULL
);

CREATE TABLE settings (
    name VARCHAR PRIMARY KEY,
    value VARCHAR NOT NULL
);
