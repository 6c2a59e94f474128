-- The account: amounts are whole billionths of a dollar, `day` is the UTC day of the reservation.
-- A reservation books its worst case; its settlement, at most one, books the difference to what the call
-- really cost, so that the sum of `amount` is what counts as spent.

CREATE TABLE ledger (
    id INTEGER PRIMARY KEY,
    reservation INTEGER UNIQUE REFERENCES ledger (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    forge TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    day TEXT NOT NULL,
    at TEXT NOT NULL,
    model TEXT NOT NULL,
    amount INTEGER NOT NULL,
    max_output_tokens INTEGER NOT NULL,
    cost INTEGER,
    billed INTEGER,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_write_tokens INTEGER,
    CHECK (reservation IS NOT NULL OR (amount >= 0 AND cost IS NULL AND billed IS NULL)),
    CHECK (reservation IS NULL OR (cost IS NOT NULL AND cost >= 0 AND coalesce(billed, 0) >= 0))
) STRICT;

CREATE INDEX ledger_attempt ON ledger (attempt_id, reservation, amount);
CREATE INDEX ledger_task ON ledger (task_id, amount);
CREATE INDEX ledger_day ON ledger (forge, repository_id, day, amount);

CREATE TRIGGER ledger_keep BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
CREATE TRIGGER ledger_stay BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
-- INSERT OR REPLACE deletes without asking the trigger above.
CREATE TRIGGER ledger_once BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR reservation = NEW.reservation)
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;
