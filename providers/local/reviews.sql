-- Reviews of pull requests, the conversations about lines that come of them, and who was asked for one.
CREATE TABLE reviews (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    issue_id INTEGER NOT NULL REFERENCES issues (id),
    author_id INTEGER NOT NULL REFERENCES users (id),
    state TEXT NOT NULL CHECK (state IN ('approved', 'changes_requested', 'commented')),
    body TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
INSERT INTO sqlite_sequence (name, seq) VALUES ('reviews', 60000);

CREATE TABLE threads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    issue_id INTEGER NOT NULL REFERENCES issues (id),
    path TEXT NOT NULL,
    line INTEGER,
    is_resolved INTEGER NOT NULL DEFAULT 0 CHECK (is_resolved IN (0, 1)),
    is_outdated INTEGER NOT NULL DEFAULT 0 CHECK (is_outdated IN (0, 1))
) STRICT;
INSERT INTO sqlite_sequence (name, seq) VALUES ('threads', 70000);

CREATE TABLE thread_comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    thread_id INTEGER NOT NULL REFERENCES threads (id),
    review_id INTEGER NOT NULL REFERENCES reviews (id),
    author_id INTEGER NOT NULL REFERENCES users (id),
    body TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;
INSERT INTO sqlite_sequence (name, seq) VALUES ('thread_comments', 80000);

CREATE TABLE review_requests (
    issue_id INTEGER NOT NULL REFERENCES issues (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    PRIMARY KEY (issue_id, user_id)
) STRICT, WITHOUT ROWID;
PRAGMA user_version = 3;
