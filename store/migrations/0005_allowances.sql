-- A maintainer's word that one exact change of protected paths may be made on one task.
CREATE TABLE allowances (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    change TEXT NOT NULL CHECK (length(change) = 40),
    actor_id TEXT NOT NULL,
    actor_login TEXT NOT NULL,
    comment_id TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (task_id, change)
) STRICT;

CREATE TRIGGER allowances_keep BEFORE UPDATE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never changed');
END;
CREATE TRIGGER allowances_stay BEFORE DELETE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never taken back');
END;
