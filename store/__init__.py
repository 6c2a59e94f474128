"""The only SQL: one SQLite file holds deliveries, tasks, attempts and money."""
