-- The embedded forge's whole world apart from git. Ids start far apart, so that a mixed-up one is not found.
CREATE TABLE users (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    login TEXT NOT NULL,
    is_bot INTEGER NOT NULL DEFAULT 0 CHECK (is_bot IN (0, 1)),
    deleted INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX users_by_login ON users (login COLLATE NOCASE) WHERE deleted = 0;

CREATE TABLE repositories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    full_name TEXT NOT NULL COLLATE NOCASE UNIQUE,
    default_branch TEXT NOT NULL,
    private INTEGER NOT NULL CHECK (private IN (0, 1)),
    archived INTEGER NOT NULL DEFAULT 0 CHECK (archived IN (0, 1)),
    last_number INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE permissions (
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    user_id INTEGER NOT NULL REFERENCES users (id),
    permission TEXT NOT NULL CHECK (permission IN ('none', 'read', 'triage', 'write', 'maintain', 'admin')),
    PRIMARY KEY (repository_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE issues (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    repository_id INTEGER NOT NULL REFERENCES repositories (id),
    number INTEGER NOT NULL,
    author_id INTEGER NOT NULL REFERENCES users (id),
    title TEXT NOT NULL,
    body TEXT,
    state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'closed')),
    locked INTEGER NOT NULL DEFAULT 0 CHECK (locked IN (0, 1)),
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    UNIQUE (repository_id, number)
) STRICT;

CREATE TABLE issue_labels (
    position INTEGER PRIMARY KEY,
    issue_id INTEGER NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    name TEXT NOT NULL COLLATE NOCASE,
    UNIQUE (issue_id, name)
) STRICT;

CREATE TABLE assignees (
    issue_id INTEGER NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id),
    PRIMARY KEY (issue_id, user_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE comments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    issue_id INTEGER NOT NULL REFERENCES issues (id) ON DELETE CASCADE,
    author_id INTEGER NOT NULL REFERENCES users (id),
    body TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL
) STRICT;
CREATE INDEX comments_by_issue ON comments (issue_id);

CREATE TABLE reactions (
    comment_id INTEGER NOT NULL REFERENCES comments (id) ON DELETE CASCADE,
    user_id INTEGER NOT NULL REFERENCES users (id),
    content TEXT NOT NULL,
    PRIMARY KEY (comment_id, user_id, content)
) STRICT, WITHOUT ROWID;

-- A pull request is an issue with a head and a base. The shas are what was last seen; they stay when the
-- branches go.
CREATE TABLE pulls (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    issue_id INTEGER NOT NULL UNIQUE REFERENCES issues (id) ON DELETE CASCADE,
    head_branch TEXT NOT NULL,
    base_branch TEXT NOT NULL,
    head_sha TEXT NOT NULL,
    fork_sha TEXT NOT NULL,
    draft INTEGER NOT NULL CHECK (draft IN (0, 1)),
    merge_sha TEXT
) STRICT;

-- Where webhooks go, set on the forge as on a real one; a target given by a program comes before it.
CREATE TABLE webhook (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    url TEXT NOT NULL,
    secret TEXT NOT NULL
) STRICT;

CREATE TABLE hook_deliveries (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    guid TEXT NOT NULL UNIQUE,
    event TEXT NOT NULL,
    action TEXT NOT NULL,
    payload BLOB NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    detail TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    sent_at TEXT
) STRICT;

INSERT INTO sqlite_sequence (name, seq)
VALUES ('users', 1000), ('repositories', 5000), ('issues', 20000), ('comments', 30000), ('pulls', 40000);
INSERT INTO users (id, login, is_bot) VALUES (1, 'fixwright[bot]', 1);
PRAGMA user_version = 1;
