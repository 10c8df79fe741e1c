# Start with `make run` and `make test`; the other targets are for contributors.
# `make run` takes HOST, PORT, DATA and WORKERS.
PYTHON ?= python3

BIN := .venv/bin
RUN_STAMP := .venv/installed-run
DEV_STAMP := .venv/installed-dev
BENCH_BIN := .venv-bench/bin
BENCH_STAMP := .venv-bench/installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
WRK := command -v wrk >/dev/null || { echo "wrk is missing: installing it"; apt-get update -qq && \
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends wrk >/dev/null; }
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
EXTRAS := --extra server --extra postgres

# Run a module's tests on one worker, since they share servers, in the order set by tests/conftest.py.
BY_MODULE := --dist loadscope --no-loadscope-reorder

# The suites that `make test-postgresql` repeats on PostgreSQL.
ON_POSTGRESQL := tests/operator tests/store tests/backends/costs tests/backends/embedded \
  tests/server/test_federated_users.py \
  tests/server/test_writer.py tests/server/metrics/test_audit_log.py tests/server/http/test_rejected_connections.py \
  $(addprefix tests/server/http/test_,connection.py health.py login.py login_queue.py login_throttle.py sessions.py) \
  $(addprefix tests/server/commands/test_,live_changes.py upgrade.py) \
  $(addprefix tests/server/commands/admin/test_,bulk_import.py cloud_file.py maintenance.py) \
  $(addprefix tests/server/admin_ui/test_,forms.py sign_in.py)

.PHONY: run test test-all test-browser test-openstack test-openstack-full test-scale test-postgresql test-versions \
  test-interop openstack openstack-stop bench bench-openstack check format docs fuzz consistency lock clean

run: $(RUN_STAMP)
	@exec $(BIN)/cloudconsole serve --sample $(if $(HOST),--host "$(HOST)") $(if $(PORT),--port "$(PORT)") \
	  $(if $(DATA),--data "$(DATA)") $(if $(WORKERS),--workers "$(WORKERS)")

# All tests that are quick and need no other program. It names the commands that run the others.
# The tests start hundreds of processes: without bytecode files, each would compile every module it imports.
test: export PYTHONDONTWRITEBYTECODE =
test: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 4 $(BY_MODULE) -m "not slow" $(ARGS)

# All tests that need no browser, PostgreSQL or OpenStack.
test-all: export PYTHONDONTWRITEBYTECODE =
test-all: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 4 $(BY_MODULE) $(ARGS)

# Web UIs in a real browser. Installs Debian's chromium and a Chinese font with apt-get if missing.
# BROWSER_SHOTS=directory saves screenshots there.
test-browser: $(DEV_STAMP)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || { \
	  echo "chromium is missing: installing it"; apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install \
	  -y -qq --no-install-recommends chromium-headless-shell fonts-noto-cjk >/dev/null; }
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/browser $(ARGS)

# A console in front of a real OpenStack, which is started for the tests (see lab/) and stopped afterwards.
# `test-openstack-full` adds the slowest tests and records the result. LAB=directory uses a running lab.
test-openstack: $(DEV_STAMP)
	tests/openstack/run $(ARGS)

test-openstack-full: $(DEV_STAMP)
	tests/openstack/run --full $(ARGS)

# Several replicas on a real PostgreSQL: consistency guarantees under faults and overload. Installs PostgreSQL and nginx
# with apt-get if missing.
test-scale: export PYTHONDONTWRITEBYTECODE =
test-scale: $(DEV_STAMP)
	$(BIN)/python -m cluster install
	$(BIN)/python -m pytest -n 4 $(BY_MODULE) tests/scale $(ARGS)
	$(BIN)/python -m pytest -n 4 $(BY_MODULE) --store=postgresql tests/contract $(ARGS)

# Tests of the embedded store from `make test`, repeated on PostgreSQL.
test-postgresql: export PYTHONDONTWRITEBYTECODE =
test-postgresql: $(DEV_STAMP)
	$(BIN)/python -m cluster install
	$(BIN)/python -m pytest -n 4 $(BY_MODULE) --store=postgresql $(ON_POSTGRESQL) $(ARGS)

# The unit and contract suites on the lowest declared versions, and on each later Python installed here, each in a
# separate environment (.venv-lowest, .venv-3.12, ...).
test-versions: export PYTHONDONTWRITEBYTECODE =
test-versions:
	PYTHON="$(PYTHON)" tests/versions/run $(ARGS)

# Programs of others: an HTTP client in Java, clients generated from /openapi.json in Python and TypeScript, the
# fuzzer Schemathesis for two minutes, and the validator of FOCUS, which is skipped without a Python 3.12; and the
# conformance suite on a console in Django. Installs Java and Node.js with apt-get if missing.
test-interop: $(RUN_STAMP)
	tests/interop/run

# Start a real OpenStack with two regions and test data on this machine, and print how to point a console at it.
# Installs MariaDB and RabbitMQ with apt-get if missing. Writes only to .lab, or to LAB=directory.
openstack: $(DEV_STAMP)
	$(BIN)/python -m lab start $(ARGS)

openstack-stop: $(DEV_STAMP)
	$(BIN)/python -m lab stop

# Benchmark on SQLite, about 17 minutes; ARGS=--quick is a smoke test. Installs wrk with apt-get if missing.
bench: $(BENCH_STAMP)
	@$(WRK)
	$(BENCH_BIN)/python -m bench $(ARGS)

# Benchmark with a temporary OpenStack lab (see lab/), about ten minutes; LAB=directory uses a running lab.
bench-openstack: $(DEV_STAMP)
	@$(WRK)
	bench/openstack/run $(ARGS)

# Benchmark on PostgreSQL with a million tenants, about 30 minutes, longer the first time. Installs PostgreSQL and nginx
# with apt-get if missing, and the compared products into .venv-bench-scale.
.PHONY: bench-scale
bench-scale: $(BENCH_STAMP)
	@$(WRK)
	$(BENCH_BIN)/python -m cluster install
	$(BENCH_BIN)/python -m bench.scale $(ARGS)

check: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell

format: $(DEV_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Generate the reference documents: settings, actions, errors, conformance checks. A test fails if they are outdated.
docs: $(DEV_STAMP)
	$(BIN)/python -m tools.build_docs

# Fuzzing: a million requests generated from the OpenAPI document, and a million byte streams in random pieces; about
# twenty minutes. Takes REQUESTS and SEED; smaller runs are not recorded.
fuzz: $(DEV_STAMP)
	$(BIN)/python -m fuzz --record docs/internals/fuzzing.md $(if $(REQUESTS),--requests "$(REQUESTS)") \
	  $(if $(SEED),--seed "$(SEED)")

# Consistency test: 50,000 operations on three replicas under fault injection; about twenty minutes. Takes OPERATIONS
# and SEED; smaller runs are not recorded. Installs missing packages with apt-get.
consistency: $(DEV_STAMP)
	$(BIN)/python -m cluster install
	$(BIN)/python -m consistency run --record docs/internals/consistency-testing.md $(if $(OPERATIONS),--operations "$(OPERATIONS)") \
	  $(if $(SEED),--seed "$(SEED)")

# Needs uv on the PATH. The locked files name no package index, so that users can choose theirs.
lock:
	$(LOCK) $(EXTRAS) pyproject.toml -o requirements/run.txt requirements/build.in
	$(LOCK) $(EXTRAS) --group dev pyproject.toml -o requirements/dev.txt -c requirements/run.txt
	$(LOCK) $(EXTRAS) --group test pyproject.toml -o requirements/test.txt -c requirements/dev.txt
	$(LOCK) $(EXTRAS) --group test --resolution lowest-direct --upgrade pyproject.toml -o requirements/lowest.txt
	$(LOCK) requirements/bench.in -o requirements/bench.txt -c requirements/run.txt
	$(LOCK) requirements/bench-scale.in -o requirements/bench-scale.txt
	$(LOCK) requirements/lab.in -o requirements/lab.txt
	$(LOCK) requirements/interop.in -o requirements/interop.txt
	$(subst 3.11,3.12,$(LOCK)) requirements/focus.in -o requirements/focus.txt

clean:
	rm -rf .venv .venv-bench .venv-bench-scale .venv-lowest .venv-interop .venv-focus .venv-django .venv-3.* dist build

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Cloud Console needs Python 3.11 or later: set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing; install it with: apt-get install -y python3-venv"; exit 1; }
	@$(PYTHON) -m venv .venv

$(RUN_STAMP): pyproject.toml requirements/run.txt | $(BIN)/python
	@echo "Installing Cloud Console into .venv ..."
	@$(PIP) --require-hashes -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_STAMP): pyproject.toml requirements/dev.txt $(RUN_STAMP)
	@echo "Installing development dependencies into .venv ..."
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

# What the benchmark compares with stays out of the console's own environment.
$(BENCH_STAMP): pyproject.toml requirements/run.txt requirements/bench.txt | $(BIN)/python
	@echo "Installing Cloud Console and what it is compared with into .venv-bench ..."
	@$(PYTHON) -m venv .venv-bench
	@$(subst $(BIN),$(BENCH_BIN),$(PIP)) --require-hashes -r requirements/run.txt -r requirements/bench.txt
	@$(subst $(BIN),$(BENCH_BIN),$(PIP)) --no-deps --no-build-isolation --editable .
	@touch $@
