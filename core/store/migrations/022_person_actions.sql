-- What signed-in people did at the pages, or were refused.

CREATE TABLE person_actions (
    sequence BIGINT PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    person VARCHAR NOT NULL,
    action VARCHAR NOT NULL,
    about VARCHAR NOT NULL,
    refused BOOLEAN NOT NULL
);
