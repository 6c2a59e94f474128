-- A word may also be about one finding of the guard: its id is shorter than the name of a protected change.
DROP TRIGGER allowances_keep;
DROP TRIGGER allowances_stay;
ALTER TABLE allowances RENAME TO allowances_of_changes;
CREATE TABLE allowances (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    change TEXT NOT NULL CHECK (length(change) BETWEEN 16 AND 72),
    actor_id TEXT NOT NULL,
    actor_login TEXT NOT NULL,
    comment_id TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (task_id, change)
) STRICT;
INSERT INTO allowances SELECT * FROM allowances_of_changes;
DROP TABLE allowances_of_changes;

CREATE TRIGGER allowances_keep BEFORE UPDATE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never changed');
END;
CREATE TRIGGER allowances_stay BEFORE DELETE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never taken back');
END;
