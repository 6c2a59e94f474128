-- Labels that repositories' own files name, in lower case, as last read; and by whose rules each is judged.
CREATE TABLE repository_labels (
    forge TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    label TEXT NOT NULL,
    category TEXT NOT NULL,
    PRIMARY KEY (forge, repository_id, label)
) STRICT, WITHOUT ROWID;

-- The label that a task was last asked for by, as it is written; "" for a command, and for older tasks.
ALTER TABLE tasks ADD COLUMN label TEXT NOT NULL DEFAULT '';

-- Whether a command asked for it last: whoever writes one has looked at the issue.
ALTER TABLE tasks ADD COLUMN by_command INTEGER NOT NULL DEFAULT 0;

-- Where a pull request is for; "" for the default branch.
ALTER TABLE publications ADD COLUMN base_branch TEXT NOT NULL DEFAULT '';

-- What people made of our pull requests. `source` is what makes an outcome one: a review's id, or "".
CREATE TABLE pull_outcomes (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    pull_number INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('merged', 'closed', 'changes_asked', 'approved', 'expired')),
    source TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    actor_login TEXT NOT NULL,
    at TEXT NOT NULL,
    UNIQUE (task_id, pull_number, kind, source)
) STRICT;

CREATE TRIGGER pull_outcomes_keep BEFORE UPDATE ON pull_outcomes BEGIN
    SELECT RAISE(ABORT, 'an outcome is never changed');
END;
CREATE TRIGGER pull_outcomes_stay BEFORE DELETE ON pull_outcomes BEGIN
    SELECT RAISE(ABORT, 'an outcome is never taken back');
END;
