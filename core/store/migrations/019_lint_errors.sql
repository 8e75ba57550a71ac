-- The errors that Lint finds, as JSON, by the hash of the texts that they were looked for in and of Lint's rules.

CREATE TABLE lint_errors (
    hash VARCHAR PRIMARY KEY,
    found_json VARCHAR NOT NULL
);
