-- What people say of decisions, and what was fitted to it; columns are the fields of the records of the same name in
-- core/domain/feedback.py, in their order. Append-only: a label is taken back by a row that names it in `retracts`, a
-- calibration is switched on and undone by rows of their own.

CREATE TABLE labels (
    sequence BIGINT NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    subtask VARCHAR NOT NULL,
    server_hint VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    "right" BOOLEAN NOT NULL,
    visitor VARCHAR NOT NULL,
    origin VARCHAR NOT NULL,
    decision_id VARCHAR,
    note VARCHAR NOT NULL,
    retracts VARCHAR NOT NULL
);

CREATE TABLE calibrations (
    sequence BIGINT NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    values_json VARCHAR NOT NULL,
    report_json VARCHAR NOT NULL,
    labels BIGINT NOT NULL,
    catalog_fingerprint VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);

CREATE TABLE calibration_switches (
    sequence BIGINT NOT NULL,
    "at" TIMESTAMPTZ NOT NULL,
    catalog VARCHAR NOT NULL,
    calibration VARCHAR,
    visitor VARCHAR NOT NULL,
    origin VARCHAR NOT NULL
);
