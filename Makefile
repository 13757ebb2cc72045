# From a fresh clone `make demo` and `make test` do everything: they make .venv, install what requirements.lock pins, run.
# Needed: make and Python 3.11 or later; for the tests also Go, and a Docker daemon or java and mvn (docs/contributing.md).

SHELL := /bin/bash
# Keep bytecode, whatever the environment says: hundreds of processes would compile again.
export PYTHONDONTWRITEBYTECODE :=
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JUDGES := tests/judges/node
JUDGES_INSTALLED := $(JUDGES)/node_modules/.installed
KAFKA_CLASSES := build/kafka-classes.jsa
PYTHONS := python3.11 python3.12 python3.13 python3 python
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
GO_JUDGES := helm kubeconform kube-score compose-spec collector
PYTEST_ARGS ?=
FUZZ_ARGS ?=
AUDIT_ARGS ?=
PIP_AUDIT := 2.10.0
CHAOS_ARGS ?=
SITE_ARGS ?=
BENCH_GUARD_ARGS ?=

.PHONY: help
help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-10s %s\n", $$1, $$2}'

.PHONY: demo
demo: $(INSTALLED) ## The whole flow on this machine: embedded broker and Redis, a worker, sample streams
	@$(BIN)/tokenmill demo

.PHONY: demo-front
demo-front: $(INSTALLED) ## OpenAI's and Anthropic's APIs in front of a model server that only writes text, on this machine
	@$(BIN)/tokenmill demo --front

.PHONY: up
up: ## The demo with everything around it, in containers: Kafka, Redis, workers, Prometheus, Grafana (needs Docker)
	docker compose -f deploy/compose.yaml up --build --detach

.PHONY: down
down: ## Remove what `make up` started
	docker compose -f deploy/compose.yaml down --volumes

LABELS = --build-arg VERSION=$(VERSION) \
    --build-arg REVISION=$$(git rev-parse HEAD) --build-arg CREATED=$$(git log -1 --format=%cI) \
    --build-arg SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct)

.PHONY: image
image: ## Both images, with version and revision in their labels (needs Docker)
	docker build -f deploy/Dockerfile -t tokenmill:$(VERSION) $(LABELS) .
	docker build -f deploy/Dockerfile -t tokenmill-tools:$(VERSION) --build-arg LOCK=tools.lock $(LABELS) .

.PHONY: test
test: $(KAFKA_CLASSES) lint types layers gen-check pytest ## Everything that must pass

.PHONY: lint
lint: $(INSTALLED) ## Style and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

.PHONY: types
types: $(INSTALLED) ## Type check, strict
	$(BIN)/mypy

.PHONY: layers
layers: $(INSTALLED) ## Imports go one way; the pure packages reach no I/O
	$(BIN)/lint-imports --no-cache

.PHONY: gen-check
gen-check: $(INSTALLED) ## Generated files are up to date
	$(BIN)/python -m tokenmill.gen --check

# Four processes for two processors: a third of the tests' time is spent waiting for servers.
.PHONY: pytest
pytest: $(INSTALLED) $(JUDGES_INSTALLED) $(KAFKA_CLASSES) ## The tests alone, in processes, or some: make pytest PYTEST_ARGS="tests/parser -x"
	$(BIN)/pytest -n 4 --dist loadgroup --no-loadscope-reorder $(PYTEST_ARGS)

# Tests that need one of these also build it. Run alongside the tests, this has it ready before, if Go is installed.
.PHONY: judges
judges: ## Build the Go programs that judge the chart, the compose files and the traces; minutes the first time
	@for name in $(GO_JUDGES); do nice -n 19 deploy/tools/go-program $$name >/dev/null || exit 1; done

.PHONY: quick
quick: $(INSTALLED) ## The tests that need no server and not thousands of cases, to run between edits
	@$(BIN)/pytest -n 4 --dist worksteal -q --quick $(PYTEST_ARGS)

LOWEST := build/lowest

.PHONY: lowest
lowest: $(LOWEST)/.installed ## The quick tests with the oldest packages that pyproject.toml allows
	@$(LOWEST)/bin/pytest -n 4 --dist worksteal -q --quick $(PYTEST_ARGS)

$(LOWEST)/.installed: deploy/lowest.lock | $(INSTALLED)
	@rm -rf $(LOWEST) && $(BIN)/python -m venv --without-pip $(LOWEST)
	@$(call install,$(LOWEST),--no-deps --require-hashes --requirement deploy/lowest.lock)
	@$(call install,$(LOWEST),--no-build-isolation --no-deps --editable .)
	@touch $@

.PHONY: chart
chart: $(INSTALLED) ## The Helm chart: lint, schemas, scores, rendered objects, a worker started from them
	$(BIN)/pytest tests/chart tests/gen/test_chart.py $(PYTEST_ARGS)

.PHONY: chart-apiserver
chart-apiserver: $(INSTALLED) ## The chart on a real API server, which takes minutes to build the first time
	@deploy/tools/kube-apiserver >/dev/null
	$(BIN)/pytest -m apiserver tests/apiserver $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: $(INSTALLED) ## Random inputs of all kinds against the promises, for long; less or more: make fuzz FUZZ_ARGS="--minutes 5"
	$(BIN)/python -m tests.properties.fuzz $(FUZZ_ARGS)

.PHONY: chaos
chaos: $(INSTALLED) ## Faults of every kind, for minutes with each delivery; longer: make chaos CHAOS_ARGS="--minutes 60 --seed 7"
	$(BIN)/python -m tests.chaos $(CHAOS_ARGS)

.PHONY: cuts
cuts: $(INSTALLED) ## A thousand cuts between gateway or fronts and their clients, while everything is killed
	TOKENMILL_CUTS=500 $(BIN)/pytest tests/integration/test_gateway_cuts.py $(PYTEST_ARGS)
	TOKENMILL_FRONT_CUTS=1000 $(BIN)/pytest tests/chaos/test_front.py $(PYTEST_ARGS)

.PHONY: long
long: $(INSTALLED) ## Hours of stale leaders, faults of tool runners, hostile requests, and a slow tool
	TOKENMILL_STALE_LEADER=50 $(BIN)/pytest tests/chaos/test_stale_leader.py $(PYTEST_ARGS)
	TOKENMILL_TOOL_FAULTS=100 $(BIN)/pytest --timeout 7200 tests/chaos/test_tools.py $(PYTEST_ARGS)
	TOKENMILL_GATEWAY_FUZZ=100000 $(BIN)/pytest tests/integration/test_gateway_fuzz.py $(PYTEST_ARGS)
	TOKENMILL_SLOW_TOOL_S=600 $(BIN)/pytest --timeout 3600 tests/integration/test_tools.py -k slow_tool $(PYTEST_ARGS)

.PHONY: mutants
mutants: $(INSTALLED) ## Mistakes in the parser's core, each of which the tests must notice
	TOKENMILL_MUTANTS=all $(BIN)/pytest tests/properties/test_mutants.py

.PHONY: ablations
ablations: $(INSTALLED) ## Parts of delivery and recovery switched off, each of which the tests must notice, three times
	TOKENMILL_ABLATIONS=3 $(BIN)/pytest tests/ablations

.PHONY: coverage
coverage: $(INSTALLED) $(JUDGES_INSTALLED) $(KAFKA_CLASSES) ## The tests with branch coverage
	$(BIN)/pytest --cov $(PYTEST_ARGS)

.PHONY: format
format: $(INSTALLED) ## Format the code and apply safe fixes
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: gen
gen: $(INSTALLED) ## Write the generated files
	$(BIN)/python -m tokenmill.gen

.PHONY: site
site: $(INSTALLED) ## Build the pages as a searchable site, in build/site
	$(BIN)/sphinx-build --fail-on-warning --quiet --conf-dir docs/site . build/site $(SITE_ARGS)

.PHONY: pictures
pictures: $(INSTALLED) ## Retake the pages' pictures of the inspector (needs Chromium)
	TOKENMILL_PICTURES=write $(BIN)/pytest tests/integration/test_inspector_pictures.py $(PYTEST_ARGS)

.PHONY: bench
bench: $(INSTALLED) ## The benchmarks, each against its reference
	$(BIN)/tokenmill bench parser
	$(BIN)/tokenmill bench pipeline --latency
	$(BIN)/tokenmill bench scale
	$(BIN)/tokenmill bench recovery
	$(BIN)/tokenmill bench memory
	$(BIN)/tokenmill bench gateway
	$(BIN)/tokenmill bench front
	$(BIN)/tokenmill bench tools

.PHONY: bench-guard
bench-guard: $(INSTALLED) ## Processor time against the kept figures; more: make bench-guard BENCH_GUARD_ARGS="--kafka --write"
	@$(BIN)/tokenmill bench guard $(BENCH_GUARD_ARGS)

PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check

# Into the environment $1. uv takes a tenth of pip's time, but does not know pip's settings: where it can't install, pip does.
install = $(BIN)/uv pip install --quiet --python $1/bin/python $2 || $(PIP) --python $1/bin/python install --no-compile $2

.PHONY: install
install: $(INSTALLED) $(JUDGES_INSTALLED) ## .venv with tokenmill and everything for development

# Keep extras in the pins: pip resolves "coverage[toml]" separately, to a newer version if only "coverage" is pinned.
COMPILE := $(BIN)/uv pip compile --universal --python-version 3.11 --quiet --generate-hashes --no-emit-index-url \
    --no-strip-extras --custom-compile-command "make lock"

.PHONY: lock
lock: $(INSTALLED) ## Pin the newest versions that pyproject.toml allows
	$(COMPILE) pyproject.toml --extra all --group dev --upgrade --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra auth --extra front --extra otel --extra worker --constraint requirements.lock --output-file deploy/requirements.lock
	$(COMPILE) pyproject.toml --extra auth --extra front --extra otel --extra tools --extra worker --constraint requirements.lock --output-file deploy/tools.lock
	$(COMPILE) --group build --constraint requirements.lock --output-file deploy/build.lock
	$(COMPILE) --group installer --upgrade --output-file deploy/installer.lock
	$(COMPILE) --group release --upgrade --output-file deploy/release.lock
	$(COMPILE) pyproject.toml --extra all --group dev --resolution lowest-direct --output-file deploy/lowest.lock

DIST := dist
RELEASE := build/release

.PHONY: dist
dist: $(RELEASE)/.installed ## Build and check a release: wheel, sdist, SBOMs and checksums
	@rm -rf $(DIST) && mkdir -p $(DIST)
	$(RELEASE)/bin/hatchling build --directory $(DIST)
	$(RELEASE)/bin/twine check --strict $(DIST)/*.whl $(DIST)/*.tar.gz
	$(RELEASE)/bin/check-wheel-contents $(DIST)/*.whl
	@for lock in requirements tools; do \
	    $(RELEASE)/bin/python -W ignore -m cyclonedx_py requirements --pyproject pyproject.toml --output-reproducible --mc-type application \
	        --output-file $(DIST)/tokenmill-$(VERSION).$$lock.cdx.json deploy/$$lock.lock || exit 1; \
	done
	@cd $(DIST) && sha256sum -- * > SHA256SUMS && cat SHA256SUMS

$(RELEASE)/.installed: deploy/release.lock | $(INSTALLED)
	@$(BIN)/python -m venv --without-pip $(RELEASE)
	@$(call install,$(RELEASE),--require-hashes --requirement deploy/release.lock)
	@touch $@

.PHONY: audit
audit: $(INSTALLED) ## Known vulnerabilities of the packages in requirements.lock, hashes checked (needs PyPI)
	@$(BIN)/uvx --quiet pip-audit==$(PIP_AUDIT) --version >/dev/null || { echo "pip-audit can't be fetched: is PyPI reachable?" >&2; exit 1; }
	@$(BIN)/uvx --quiet pip-audit==$(PIP_AUDIT) --requirement requirements.lock --require-hashes --disable-pip --strict \
	    --progress-spinner off $(AUDIT_ARGS) || { echo "vulnerable, or unknown: a package that can't be looked up counts as a failure" >&2; exit 1; }

.PHONY: clean
clean: ## Remove everything that was built here
	rm -rf $(VENV) $(JUDGES)/node_modules build dist htmlcov .coverage .coverage.* .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): requirements.lock pyproject.toml
	@python=""; for name in $(PYTHONS); do \
	    if $$name -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then python=$$name; break; fi; \
	done; \
	if [ -z "$$python" ]; then echo "tokenmill needs Python 3.11 or later; looked for: $(PYTHONS)" >&2; exit 1; fi; \
	[ -x $(BIN)/python ] || $$python -m venv $(VENV) || { \
	    echo "$$python can't make virtual environments; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@echo "installing into $(VENV), about a minute the first time"
	@$(PIP) install --require-hashes --only-binary=:all: --requirement deploy/installer.lock || true
	@# The lock is complete, so there is nothing to resolve; modules are compiled when imported.
	@$(call install,$(VENV),--no-deps --require-hashes --requirement requirements.lock)
	@$(call install,$(VENV),--no-build-isolation --no-deps --editable .)
	@touch $@

# With Java: test brokers start in half the time.
$(KAFKA_CLASSES): deploy/kafka-test-server/pom.xml | $(INSTALLED)
	@if command -v java >/dev/null && command -v mvn >/dev/null; then \
	    echo "writing down Kafka's classes" && $(BIN)/python -m tests.support.kafka_classes $@; fi

# With Node: the clients that judge what dialects write.
$(JUDGES_INSTALLED): $(JUDGES)/package-lock.json
	@if command -v npm >/dev/null; then \
	    echo "installing the clients for Node into $(JUDGES)/node_modules" && \
	    npm ci --prefix $(JUDGES) --ignore-scripts --no-audit --no-fund --silent && touch $@; \
	else echo "npm is missing: the tests with Node clients are skipped"; fi
