-- What each call through the endpoint used of the budgets of its day: reserved before it, settled after it. A row that is not
-- settled when the store is opened belongs to a process that was killed. Columns are the fields of Spent, in their order.

CREATE TABLE spending (
    id VARCHAR PRIMARY KEY,
    "at" TIMESTAMPTZ NOT NULL,
    day VARCHAR NOT NULL,
    client VARCHAR NOT NULL,
    catalog VARCHAR NOT NULL,
    server VARCHAR NOT NULL,
    tool VARCHAR NOT NULL,
    usd DOUBLE NOT NULL,
    calls BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    over BOOLEAN NOT NULL,
    settled BOOLEAN NOT NULL
);
