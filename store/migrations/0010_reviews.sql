-- What reviewers ask of a draft, from hearing to answer, and the threads that an attempt was told of.
CREATE TABLE review_wishes (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    pull_number INTEGER NOT NULL,
    source TEXT NOT NULL,
    reviewer_id TEXT NOT NULL,
    reviewer_login TEXT NOT NULL,
    wants_changes INTEGER NOT NULL CHECK (wants_changes IN (0, 1)),
    said TEXT NOT NULL,
    heard_at TEXT NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    answered_at TEXT,
    UNIQUE (task_id, source)
) STRICT;
CREATE INDEX review_wishes_open ON review_wishes (task_id) WHERE answered_at IS NULL;
CREATE TABLE told_threads (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    thread TEXT NOT NULL,
    path TEXT NOT NULL,
    line INTEGER,
    touch TEXT,
    UNIQUE (attempt_id, thread)
) STRICT;
