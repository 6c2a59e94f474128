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

CREATE TRIGGER allowances_keep BEFORE UPDATE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never changed');
END;

CREATE TRIGGER allowances_stay BEFORE DELETE ON allowances BEGIN
    SELECT RAISE(ABORT, 'an allowance is never taken back');
END;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    number INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at TEXT,
    outcome TEXT,
    base_sha TEXT NOT NULL DEFAULT '',
    checkpoint_sha TEXT NOT NULL DEFAULT '',
    steps INTEGER NOT NULL DEFAULT 0,
    restatement TEXT,
    claim TEXT,
    verdict BLOB,
    UNIQUE (task_id, number),
    CHECK ((outcome IS NULL) = (ended_at IS NULL))
) STRICT;

CREATE UNIQUE INDEX attempts_open ON attempts (task_id) WHERE outcome IS NULL;

CREATE TABLE body_packs (
    id INTEGER PRIMARY KEY,
    received_at TEXT NOT NULL,
    content BLOB
) STRICT;

CREATE INDEX body_packs_kept ON body_packs (received_at) WHERE content IS NOT NULL;

CREATE TABLE cap_raises (
    task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
    amount INTEGER NOT NULL CHECK (amount > 0),
    actor_id TEXT NOT NULL,
    actor_login TEXT NOT NULL,
    comment_id TEXT NOT NULL,
    at TEXT NOT NULL
) STRICT;

CREATE TRIGGER cap_raises_keep BEFORE UPDATE ON cap_raises BEGIN
    SELECT RAISE(ABORT, 'a cap is raised once');
END;

CREATE TRIGGER cap_raises_once BEFORE INSERT ON cap_raises
WHEN EXISTS (SELECT 1 FROM cap_raises WHERE task_id = NEW.task_id)
BEGIN
    SELECT RAISE(ABORT, 'a cap is raised once');
END;

CREATE TRIGGER cap_raises_stay BEFORE DELETE ON cap_raises BEGIN
    SELECT RAISE(ABORT, 'a cap is raised once');
END;

CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY,
    provider TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    body_sha256 TEXT NOT NULL,
    received_at TEXT NOT NULL,
    kind TEXT NOT NULL,
    repository_id TEXT,
    issue_number INTEGER,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    admission TEXT NOT NULL,
    task_id INTEGER REFERENCES tasks (id),
    body_pack INTEGER NOT NULL REFERENCES body_packs (id),
    body_start INTEGER NOT NULL,
    body_length INTEGER NOT NULL,
    UNIQUE (provider, delivery_id),
    UNIQUE (provider, body_sha256)
) STRICT;

CREATE INDEX deliveries_task ON deliveries (task_id) WHERE task_id IS NOT NULL;

CREATE TABLE errands (
    id INTEGER PRIMARY KEY,
    delivery INTEGER NOT NULL UNIQUE REFERENCES deliveries (id),
    kind TEXT NOT NULL,
    event TEXT NOT NULL,
    admission TEXT NOT NULL,
    decision TEXT,
    decided_at TEXT
) STRICT;

CREATE INDEX errands_waiting ON errands (id) WHERE decided_at IS NULL;

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
    cache_write_tokens INTEGER, price_source TEXT NOT NULL DEFAULT '', estimated INTEGER NOT NULL DEFAULT 0 CHECK (estimated IN (0, 1)),
    CHECK (reservation IS NOT NULL OR (amount >= 0 AND cost IS NULL AND billed IS NULL)),
    CHECK (reservation IS NULL OR (cost IS NOT NULL AND cost >= 0 AND coalesce(billed, 0) >= 0))
) STRICT;

CREATE INDEX ledger_attempt ON ledger (attempt_id, reservation, amount);

CREATE INDEX ledger_day ON ledger (forge, repository_id, day, amount);

CREATE TRIGGER ledger_keep BEFORE UPDATE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE TRIGGER ledger_once BEFORE INSERT ON ledger
WHEN EXISTS (SELECT 1 FROM ledger WHERE id = NEW.id OR reservation = NEW.reservation)
BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE INDEX ledger_service_day ON ledger (day, amount);

CREATE TRIGGER ledger_stay BEFORE DELETE ON ledger BEGIN
    SELECT RAISE(ABORT, 'the ledger is append-only');
END;

CREATE INDEX ledger_task ON ledger (task_id, amount);

CREATE TABLE phases (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    name TEXT NOT NULL,
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    cost INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;

CREATE INDEX phases_attempt ON phases (attempt_id);

CREATE TABLE publications (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    kind TEXT NOT NULL,
    branch TEXT NOT NULL,
    commit_sha TEXT NOT NULL,
    tree TEXT NOT NULL,
    expected_sha TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at TEXT NOT NULL,
    done_at TEXT,
    pull_number INTEGER,
    url TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL
, base_branch TEXT NOT NULL DEFAULT '') STRICT;

CREATE INDEX publications_branch ON publications (branch);

CREATE UNIQUE INDEX publications_open ON publications (task_id, tree, kind, branch) WHERE done_at IS NULL;

CREATE INDEX publications_pull ON publications (pull_number) WHERE pull_number IS NOT NULL;

CREATE INDEX publications_task ON publications (task_id);

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

CREATE TABLE redeliveries (
    provider TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    times INTEGER NOT NULL,
    asked_at TEXT NOT NULL,
    PRIMARY KEY (provider, delivery_id)
) STRICT;

CREATE TABLE repository_labels (
    forge TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    label TEXT NOT NULL,
    category TEXT NOT NULL,
    PRIMARY KEY (forge, repository_id, label)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE signals (
    id INTEGER PRIMARY KEY,
    delivery INTEGER NOT NULL UNIQUE REFERENCES deliveries (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    kind TEXT NOT NULL,
    event TEXT NOT NULL,
    decision TEXT,
    decided_at TEXT
) STRICT;

CREATE INDEX signals_waiting ON signals (id) WHERE decided_at IS NULL;

CREATE TABLE task_events (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    at TEXT NOT NULL,
    trigger TEXT NOT NULL,
    from_state TEXT,
    to_state TEXT NOT NULL,
    generation INTEGER NOT NULL,
    reason TEXT,
    detail TEXT NOT NULL
) STRICT;

CREATE TRIGGER task_events_keep BEFORE UPDATE ON task_events BEGIN
    SELECT RAISE(ABORT, 'the history of tasks is append-only');
END;

CREATE TRIGGER task_events_stay BEFORE DELETE ON task_events BEGIN
    SELECT RAISE(ABORT, 'the history of tasks is append-only');
END;

CREATE INDEX task_events_task ON task_events (task_id);

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    forge TEXT NOT NULL,
    repository_id TEXT NOT NULL,
    issue_number INTEGER NOT NULL,
    repository_name TEXT NOT NULL,
    category TEXT NOT NULL,
    requester_id TEXT NOT NULL,
    requester_login TEXT NOT NULL,
    requester_is_bot INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN ('queued', 'running', 'watching', 'in_review', 'blocked', 'cancelled', 'done')
    ),
    reason TEXT,
    detail TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0,
    recoveries INTEGER NOT NULL DEFAULT 0,
    generation INTEGER NOT NULL DEFAULT 0,
    not_before TEXT NOT NULL DEFAULT '',
    worker_name TEXT,
    worker_life TEXT,
    lease_until TEXT,
    wip_sha TEXT NOT NULL DEFAULT '',
    wip_branch TEXT NOT NULL DEFAULT '',
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL, word_at TEXT NOT NULL DEFAULT '', label TEXT NOT NULL DEFAULT '', by_command INTEGER NOT NULL DEFAULT 0,
    UNIQUE (forge, repository_id, issue_number),
    CHECK ((state = 'running') = (lease_until IS NOT NULL))
) STRICT;

CREATE INDEX tasks_branch ON tasks (forge, repository_id, wip_branch) WHERE wip_branch <> '';

CREATE INDEX tasks_queued ON tasks (not_before, id) WHERE state = 'queued';

CREATE INDEX tasks_running ON tasks (lease_until) WHERE state = 'running';

CREATE INDEX tasks_waiting ON tasks (forge, repository_id) WHERE state = 'queued';

CREATE TABLE told_threads (
    id INTEGER PRIMARY KEY,
    attempt_id INTEGER NOT NULL REFERENCES attempts (id),
    thread TEXT NOT NULL,
    path TEXT NOT NULL,
    line INTEGER,
    touch TEXT,
    UNIQUE (attempt_id, thread)
) STRICT;

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
