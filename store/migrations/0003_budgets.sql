-- Where the price of a call came from, and whether nobody knew it better than as a stated upper price.
ALTER TABLE ledger ADD COLUMN price_source TEXT NOT NULL DEFAULT '';
ALTER TABLE ledger ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0 CHECK (estimated IN (0, 1));

-- What the whole service has cost on a UTC day, over all repositories.
CREATE INDEX ledger_service_day ON ledger (day, amount);
