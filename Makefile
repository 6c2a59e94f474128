# Every target does its own set-up. `make demo` and `make test` are all a newcomer needs.
PYTHON ?= python3
VENV := .venv
TOOLS := .tools
BIN := $(VENV)/bin
SCENARIO ?= fix
PYTEST ?= $(BIN)/python -m pytest
# Every process of ours starts a good deal faster from compiled files.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-long test-journeys test-browser check setup memory crash kills load spend-proof \
	bench-door bench-sandbox bench-stop bench-stream bench-localize guard-bench verdict-bench redteam redteam-bites \
	docs forges snapshots clean

demo: setup
	@$(BIN)/fixwright demo --scenario "$(SCENARIO)" $(if $(FORGE),--forge "$(FORGE)") $(if $(CASE),--case "$(CASE)")

# The journeys run by themselves: what the service does in the sandbox yields to everything else.
# Only these tests load LiteLLM, which takes seconds in each process; they run beside the journeys.
MODEL_STACK := tests/harness/agent

test: setup
	@$(PYTEST) -n 3 $(or $(TESTS),-m "not journey and not long" --ignore=$(MODEL_STACK))
	@$(if $(TESTS),:,$(PYTEST) -n 2 --dist loadgroup -m "not long" tests/journeys $(MODEL_STACK))

test-long: setup
	@$(PYTEST) -n 3 -m "long and not journey and not browser"

# Whole runs of the service: scenarios, kills, stops, GitHub.
test-journeys: setup
	@$(PYTEST) -n 2 -m "long and journey"

check: setup
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m app.docs --check

docs: setup
	@$(BIN)/python -m app.docs --write

# Writes the kept texts for people (tests/worker/texts) anew; read the difference before it is committed.
snapshots: setup
	@$(BIN)/python -m pytest -q tests/worker/test_texts.py --write-texts

# Runs the contract suite on every forge and writes the support matrix (docs/reference/forges.md).
forges: setup
	@$(BIN)/python -m tests.contract.matrix --write

memory: setup
	@$(BIN)/python -m evals.memory

bench-door: setup
	@$(BIN)/python -m evals.bench_door

# The service under load beside FastAPI and huey.  make load DELIVERIES=100000 CONNECTIONS=64
load: setup
	@$(BIN)/python -m evals.load --deliveries "$(or $(DELIVERIES),10000)" \
		--connections "$(or $(CONNECTIONS),32)"

# How soon a cancel and a SIGTERM take effect, in the phases of an attempt.  make bench-stop ALL=1
bench-stop: setup
	@$(BIN)/python -m app.demo.stops $(if $(ALL),--all)

bench-sandbox: setup
	@$(BIN)/python -m evals.bench_sandbox

# Judges real past bugs: the real fix must be called verified, what only looks like one must not.
verdict-bench: setup
	@$(BIN)/python -m evals.verdict $(CASES)

setup: $(VENV)/.ready $(TOOLS)/.ready
	@command -v bwrap >/dev/null 2>&1 || sh .ci/bubblewrap

# Only versions are pinned (constraints.txt); where packages come from is the machine's own setting.
$(VENV)/.ready: pyproject.toml constraints.txt
	@sh .ci/venv "$(PYTHON)" "$(VENV)"
	@touch $@

# The read-only tool chain that the sandbox shows to repositories' tests.
$(TOOLS)/.ready: $(VENV)/.ready .ci/tools
	@sh .ci/tools "$(BIN)/python" "$(TOOLS)"
	@touch $@

clean:
	rm -rf $(VENV) $(TOOLS) .pytest_cache .mypy_cache .ruff_cache .hypothesis

# Kills the worker at named steps and at random instants of whole runs, and checks what is left. With RUNS, at
# every named step and at so many instants.  make crash RUNS=200
crash: setup
	@$(BIN)/python -m evals.crash $(if $(RUNS),--every --runs "$(RUNS)")

# Kills a process of the whole running service at random instants of the main job.  make kills RUNS=20
kills: setup
	@$(BIN)/python -m app.demo.kills --runs "$(or $(RUNS),4)"

# Simulates spending over the real meter and ledger; no cap may be passed.  make spend-proof TASKS=100000 SEED=2
spend-proof: setup
	@$(BIN)/python -m evals.spend_proof --tasks "$(or $(TASKS),10000)" --seed "$(or $(SEED),1)"

# Judges patches of real packages by the guard; fetches them once.  make guard-bench HELD_OUT=1
guard-bench: setup
	@$(BIN)/python -m evals.guard_bench $(if $(HELD_OUT),--held-out)

# Tries every attack of the red team's list against the real parts; non-zero if one gets through.  make redteam
redteam: setup
	@$(BIN)/python -m tests.redteam.run $(if $(WORKERS),--workers "$(WORKERS)")

# Takes each defence away in turn, in a copy, and shows the attack that then succeeds.  make redteam-bites
redteam-bites: setup
	@$(BIN)/python -m tests.redteam.bites $(if $(ONLY),--only "$(ONLY)")

# Ranks files for real issues and compares with what the fixes touched; DATA is a directory with dev.jsonl.
# make bench-localize DATA=../cases ALL=1 ARCHIVES=../archives
bench-localize: setup
	@$(BIN)/python -m evals.localize "$(or $(DATA),.cache/localize)" $(if $(ALL),--all) \
		$(if $(ARCHIVES),--archives "$(ARCHIVES)") $(if $(STRATEGIES),--strategies "$(STRATEGIES)")

# Streams of a task to many idle listeners: memory, how soon news arrive, a SIGTERM.  make bench-stream CLIENTS=90
bench-stream: setup
	@$(BIN)/python -m evals.bench_stream --clients "$(or $(CLIENTS),50)"

# Every page and button of the console in Debian's Chromium, at two widths and in two schemes; skipped without it.
test-browser: setup
	@$(PYTEST) -m browser tests/browser
