-- Append-only events. `sequence` is the order of commit over all of these tables; columns are the fields of the
-- dataclass of the same name in core/domain/events.py, in their order.

CREATE TABLE decisions (
    sequence BIGINT NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    router VARCHAR NOT NULL,
    subtask VARCHAR NOT NULL,
    server_hint VARCHAR NOT NULL,
    parameters_json VARCHAR NOT NULL,
    winner VARCHAR,
    reason VARCHAR NOT NULL,
    expected_price_usd DOUBLE,
    expected_time_s DOUBLE,
    total_ms DOUBLE NOT NULL,
    candidates_json VARCHAR NOT NULL,
    trace_json VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);

CREATE TABLE outcomes (
    sequence BIGINT NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    decision_id VARCHAR,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    latency_s DOUBLE NOT NULL,
    connect_s DOUBLE,
    attempts BIGINT NOT NULL,
    price_usd DOUBLE,
    simulated BOOLEAN NOT NULL,
    error VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);

CREATE TABLE statistics (
    sequence BIGINT NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    outcome_id VARCHAR NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    server_success DOUBLE NOT NULL,
    server_success_variance DOUBLE NOT NULL,
    server_post_accept_failure DOUBLE NOT NULL,
    server_call_s DOUBLE NOT NULL,
    server_conn_s DOUBLE NOT NULL,
    tool_success DOUBLE NOT NULL,
    tool_latency_s DOUBLE NOT NULL,
    server_calls BIGINT NOT NULL,
    tool_calls BIGINT NOT NULL
);

CREATE TABLE parameters (
    sequence BIGINT NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    router VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    old VARCHAR NOT NULL,
    new VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);
