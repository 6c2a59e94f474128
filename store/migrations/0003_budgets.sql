-- Where the price of a call came from, and whether nobody knew it better than as a stated upper price.
ALTER TABLE ledger ADD COLUMN price_source TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0 CHECK (estimated IN (0, 1));

-- What the whole service has cost on a UTC day, over all repositories.
CREATE INDEX ledger_service_day ON ledger (day, amount);

-- A maintainer's word that the attempts at one task may cost more, once. `amount` is in billionths.
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
CREATE TRIGGER cap_raises_stay BEFORE DELETE ON cap_raises BEGIN
    SELECT RAISE(ABORT, 'a cap is raised once');
END;
CREATE TRIGGER cap_raises_once BEFORE INSERT ON cap_raises
WHEN EXISTS (SELECT 1 FROM cap_raises WHERE task_id = NEW.task_id)
BEGIN
    SELECT RAISE(ABORT, 'a cap is raised once');
END;
