-- Catalogs as rows: a server or a tool is a row, the schemas of one server's tools are one block of compressed JSON. The document of a
-- catalog in 002_catalogs.sql is '' from here on; one of before is turned into rows when it is first read.

CREATE TABLE servers (
    catalog VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    category VARCHAR NOT NULL,
    ask_usd DOUBLE,
    conn_s DOUBLE,
    call_s DOUBLE,
    success DOUBLE,
    success_variance DOUBLE,
    post_accept_failure DOUBLE,
    virtual BOOLEAN NOT NULL,
    switched_off BOOLEAN NOT NULL,
    tools BIGINT NOT NULL,
    seldom_json VARCHAR NOT NULL
);

CREATE TABLE tools (
    catalog VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    server VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    title VARCHAR NOT NULL,
    tier VARCHAR NOT NULL,
    tier_reason VARCHAR NOT NULL,
    price_usd DOUBLE,
    latency_s DOUBLE,
    success DOUBLE,
    read_only BOOLEAN,
    destructive BOOLEAN,
    idempotent BOOLEAN,
    open_world BOOLEAN,
    seldom_json VARCHAR NOT NULL,
    schema_block BIGINT NOT NULL,
    schema_at BIGINT NOT NULL
);

CREATE TABLE schema_blocks (
    catalog VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    schemas BLOB NOT NULL
);
