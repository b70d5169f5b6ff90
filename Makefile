# make app    set up and open the app          make test      every promise once, in minutes
# make check  lint, format, types              make walks     a dozen visits by a browser, the wheel, the core
# make docs   the documentation site, in site/ make test-all  all variants, with new examples
# make bench  the studies in benchmarks/
# make findings   how other packages behave on valid input (findings/README.md)
# make release-dry-run   build, check and install what a release would upload (docs/releasing.md)

PYTHON ?= python3
VENV ?= .venv
# TORCH=cpu installs PyTorch's small CPU build where PyPI would give the large CUDA one.
TORCH ?=
PORT ?= 8501

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check -q -c constraints.txt
ifeq ($(TORCH),cpu)
PIP += --extra-index-url https://download.pytorch.org/whl/cpu
endif

.PHONY: app test walks test-all test-long check format docs bench findings release-dry-run clean

app: $(VENV)/.app
	$(BIN)/python -m fairdash app --port $(PORT)

# Two processes, a file of tests each (tests/conftest.py).
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadscope --no-loadscope-reorder

# Rewritten assertions are kept, also where the environment says not to: both processes import all tests.
test walks test-all test-long: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.dev
	$(PYTEST) -m "not browser and not fresh and not printed and not variant" --ignore=tests/browser --ignore=tests/fresh

# What a change must pass besides: a dozen visits, one wheel in one environment, the core alone, and what README, the
# guide and CONTRIBUTING.md print. pip fetches what it needs.
walks: $(VENV)/.dev
	$(PYTEST) -m "(browser or wheel or printed) and not variant" \
	  tests/browser tests/test_wheel.py tests/test_core.py tests/test_docs.py tests/test_contributing.py

# With what is held elsewhere by a smaller case, with all wheels and environments, and with new examples.
test-all: $(VENV)/.dev
	$(PYTEST) --hypothesis-profile=new

# The same with 5,000 random tables written in random dialects, and four times the samples without a link.
test-long: $(VENV)/.dev
	$(PYTEST) --hypothesis-profile=long

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Nothing is fetched once its packages are there. A warning is a failure, as is a link that leads nowhere. One thread:
# torch's many cost the gallery's small networks more than they give.
docs: $(VENV)/.docs
	OMP_NUM_THREADS=1 $(BIN)/python -m docs.making.build
	$(BIN)/python -m docs.making.links site

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.import_times
	$(BIN)/python -m benchmarks.stack_vs_loop
	$(BIN)/python -m benchmarks.training
	$(BIN)/python -m benchmarks.standard
	$(BIN)/python -m benchmarks.portfolio
	$(BIN)/python -m benchmarks.adversary_schedule
	$(BIN)/python -m benchmarks.seconds_by_rows
	$(BIN)/python -m benchmarks.first_verdict
	$(BIN)/python -m benchmarks.architectures
	$(BIN)/python -m benchmarks.parts_of_a_run
	$(BIN)/python -m benchmarks.training_tables
	$(BIN)/python -m benchmarks.crime_front
	$(BIN)/python -m benchmarks.blends
	$(BIN)/python -m benchmarks.blend_tables
	$(BIN)/python -m benchmarks.find_lam
	$(BIN)/python -m benchmarks.confirmation
	$(BIN)/python -m benchmarks.choosing_tables
	$(BIN)/python -m benchmarks.page_times
	$(BIN)/python -m benchmarks.tradeoff_times
	$(BIN)/python -m benchmarks.large_table
	$(BIN)/python -m benchmarks.estimators
	$(BIN)/python -m benchmarks.coverage
	$(BIN)/python -m benchmarks.verdict
	$(BIN)/python -m benchmarks.weighted_null
	$(BIN)/python -m benchmarks.grouped_null
	$(BIN)/python -m benchmarks.conditional
	$(BIN)/python -m benchmarks.conditional --pairs
	$(BIN)/python -m benchmarks.price
	$(BIN)/python -m benchmarks.class_verdicts
	$(BIN)/python -m benchmarks.crossing
	$(BIN)/python -m benchmarks.postprocessor
	$(BIN)/python -m benchmarks.postprocessor_tables
	$(BIN)/python -m benchmarks.tariff
	$(BIN)/python -m benchmarks.estimator_tables
	$(BIN)/python -m benchmarks.doubtful_tables
	$(BIN)/python -m benchmarks.fuzz_readers --minutes 10
	$(BIN)/python -m benchmarks.crash --kills 300
	$(BIN)/python -m benchmarks.sessions

# Each fetches its own packages. One whose output has changed stops no other.
findings:
	@status=0; for script in findings/*.sh; do \
	  PYTHON=$(PYTHON) $$script && echo "$$script: as it was seen" || { echo "$$script: CHANGED"; status=1; }; \
	done; exit $$status

# What a release uploads, built from a clean dist/, checked as PyPI does, and installed where nothing is yet.
release-dry-run: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python -m docs.making.release dist

clean:
	rm -rf $(VENV) site dist

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fairdash needs Python 3.11 or newer; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.app: $(VENV)/bin/python requirements.txt pyproject.toml constraints.txt
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.app
	$(PIP) -e '.[all,dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.app
	$(PIP) -e '.[app,docs]'
	@touch $@
