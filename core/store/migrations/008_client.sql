-- The name that a client of the endpoint gives itself; empty where nobody came through it.

ALTER TABLE decisions ADD COLUMN client VARCHAR DEFAULT '';
ALTER TABLE decisions ALTER COLUMN client SET NOT NULL;
ALTER TABLE outcomes ADD COLUMN client VARCHAR DEFAULT '';
ALTER TABLE outcomes ALTER COLUMN client SET NOT NULL;
