-- Traces of decisions, compressed, apart from the figures: `decisions.trace_json` stays empty, and a trace is removed after its time.
-- `trace_removals` says for the chain of hashes what the records were without them.

CREATE TABLE traces (sequence BIGINT NOT NULL, "at" TIMESTAMPTZ NOT NULL, trace BLOB NOT NULL);
INSERT INTO traces SELECT sequence, "at", packed(trace_json) FROM decisions WHERE trace_json <> '';
ALTER TABLE decisions ALTER COLUMN trace_json TYPE VARCHAR USING '';

CREATE TABLE trace_removals (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    first BIGINT NOT NULL,
    last BIGINT NOT NULL,
    hash VARCHAR NOT NULL
);
