-- How the tasks of a run were played out, "" where they were only routed: a column of the runs and sweeps of 007_lab.sql.

ALTER TABLE lab_runs ADD COLUMN played_json VARCHAR DEFAULT '';
ALTER TABLE sweeps ADD COLUMN played_json VARCHAR DEFAULT '';

-- Runs that are under way: each routed task, so that a run that was ended is taken up where it was. Gone when the run is stored.

CREATE TABLE run_parts (
    run VARCHAR NOT NULL,
    phase VARCHAR NOT NULL,
    number BIGINT NOT NULL,
    routed_json VARCHAR NOT NULL,
    PRIMARY KEY (run, phase, number)
);

-- Snapshots of the console's state under names that people gave; columns are the fields of core/domain/snapshot.py::Snapshot.

CREATE TABLE snapshots (
    name VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    state_json VARCHAR NOT NULL
);
