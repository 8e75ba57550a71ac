-- One seal for each write of the log: the hash of the seal before it and of the records that were written with it, whose
-- numbers are (the seal's before, last]. Records from before the first seal are not covered.

CREATE TABLE seals (
    last BIGINT PRIMARY KEY,
    first BIGINT NOT NULL,
    hash VARCHAR NOT NULL
);
