-- The lab: runs over labelled tasks and points of sweeps; columns are the fields of the records of the same name in
-- core/domain/lab_run.py, in their order. Ids follow from the inputs: the same run is stored once. What several runs share
-- (task sets, catalogs as digests) is stored once by its fingerprint.

CREATE TABLE lab_inputs (
    fingerprint VARCHAR PRIMARY KEY,
    kind VARCHAR NOT NULL,
    document VARCHAR NOT NULL
);

CREATE TABLE lab_runs (
    catalog VARCHAR NOT NULL,
    catalog_fingerprint VARCHAR NOT NULL,
    tasks VARCHAR NOT NULL,
    tasks_fingerprint VARCHAR NOT NULL,
    hints BOOLEAN NOT NULL,
    router VARCHAR NOT NULL,
    preset VARCHAR NOT NULL,
    parameters_json VARCHAR NOT NULL,
    outcomes BIGINT NOT NULL,
    labels BIGINT NOT NULL,
    calibration VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    versions_json VARCHAR NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    result_json VARCHAR NOT NULL
);

CREATE TABLE sweeps (
    catalog VARCHAR NOT NULL,
    catalog_fingerprint VARCHAR NOT NULL,
    tasks VARCHAR NOT NULL,
    tasks_fingerprint VARCHAR NOT NULL,
    hints BOOLEAN NOT NULL,
    router VARCHAR NOT NULL,
    preset VARCHAR NOT NULL,
    parameters_json VARCHAR NOT NULL,
    outcomes BIGINT NOT NULL,
    labels BIGINT NOT NULL,
    calibration VARCHAR NOT NULL,
    seed BIGINT NOT NULL,
    versions_json VARCHAR NOT NULL,
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    plan_json VARCHAR NOT NULL
);

CREATE TABLE sweep_points (
    sweep VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    values_json VARCHAR NOT NULL,
    result_json VARCHAR NOT NULL,
    PRIMARY KEY (sweep, number)
);
