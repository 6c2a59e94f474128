-- What the harness says of each attempt, signed. `sha256` names it; each envelope holds the hash before it.
CREATE TABLE receipts (
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL UNIQUE,
    previous TEXT NOT NULL UNIQUE,
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    outcome TEXT NOT NULL,
    tree TEXT NOT NULL,
    at TEXT NOT NULL,
    envelope BLOB NOT NULL,
    UNIQUE (attempt_id, outcome, tree)
) STRICT;

CREATE TRIGGER receipts_keep BEFORE UPDATE ON receipts BEGIN
    SELECT RAISE(ABORT, 'receipts are not changed');
END;
CREATE TRIGGER receipts_stay BEFORE DELETE ON receipts BEGIN
    SELECT RAISE(ABORT, 'receipts are not changed');
END;
