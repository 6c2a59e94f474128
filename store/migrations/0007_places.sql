-- When, by the forge's clock, the newest word was said that has moved the task; empty where that is not known.
ALTER TABLE tasks ADD COLUMN word_at TEXT NOT NULL DEFAULT '';

CREATE INDEX tasks_waiting ON tasks (forge, repository_id) WHERE state = 'queued';

-- What the worker has to look at, or to say, for a delivery that concerns no single task.
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

-- Deliveries that the forge was asked to send again.
CREATE TABLE redeliveries (
    provider TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    times INTEGER NOT NULL,
    asked_at TEXT NOT NULL,
    PRIMARY KEY (provider, delivery_id)
) STRICT;
