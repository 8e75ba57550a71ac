-- What an injected network did to a call, in plain words; empty where there was none.

ALTER TABLE outcomes ADD COLUMN injected VARCHAR DEFAULT '';
ALTER TABLE outcomes ALTER COLUMN injected SET NOT NULL;
