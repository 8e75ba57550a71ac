-- What is costly to compute again: embeddings (little-endian float32) and token counts, by the hash of their text.

CREATE TABLE vectors (
    model VARCHAR,
    hash VARCHAR,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, hash)
);

CREATE TABLE token_counts (
    hash VARCHAR PRIMARY KEY,
    tokens BIGINT NOT NULL
);
