"""One attempt on one task: prepare, localize, brief, agent, guard, verify."""
