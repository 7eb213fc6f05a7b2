# The two commands of the README are `make run` and `make test`; each sets itself up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
PYTEST_ARGS ?=

.PHONY: run test lint check demo lock images clean

run: $(STAMP)
	$(BIN)/python cli.py serve

demo: $(STAMP)
	$(BIN)/python cli.py demo
	$(BIN)/python cli.py serve

test: $(DEV_STAMP)
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test

images: $(DEV_STAMP)
	$(BIN)/python -m docs.make_images

$(STAMP): requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Rapport needs Python 3.11 or newer; set PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt
	touch $@

$(DEV_STAMP): requirements-dev.txt requirements-cluster.txt $(STAMP)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-cluster.txt
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	touch $@

lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --no-header requirements.in -o requirements.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --no-header requirements-cluster.in -o requirements-cluster.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --quiet --no-header requirements-dev.in -o requirements-dev.txt

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
