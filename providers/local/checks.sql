-- What continuous integration says of commits; '' while a job runs. A status is an outsider's word: it has no log.
CREATE TABLE checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    sha TEXT NOT NULL,
    name TEXT NOT NULL,
    conclusion TEXT NOT NULL,
    log TEXT NOT NULL DEFAULT '',
    is_status INTEGER NOT NULL DEFAULT 0 CHECK (is_status IN (0, 1)),
    reruns INTEGER NOT NULL DEFAULT 0,
    UNIQUE (repository_id, sha, name)
) STRICT;
INSERT INTO sqlite_sequence (name, seq) VALUES ('checks', 50000);
PRAGMA user_version = 2;
