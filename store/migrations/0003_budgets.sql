-- What the whole service has cost on a UTC day, over all repositories.
CREATE INDEX ledger_service_day ON ledger (day, amount);
