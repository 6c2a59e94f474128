"""One adapter per test runner: how it is called, how it is made to report, and how the report is read."""
