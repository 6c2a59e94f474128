-- Published commits whose continuous integration is watched, and what came of it.
CREATE TABLE watches (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    sha TEXT NOT NULL,
    pull_number INTEGER NOT NULL,
    since TEXT NOT NULL,
    reruns INTEGER NOT NULL DEFAULT 0,
    ending TEXT,
    error TEXT NOT NULL DEFAULT '',
    evidence TEXT NOT NULL DEFAULT '',
    said TEXT NOT NULL DEFAULT '',
    ended_at TEXT,
    UNIQUE (task_id, sha),
    CHECK ((ending IS NULL) = (ended_at IS NULL))
) STRICT;
