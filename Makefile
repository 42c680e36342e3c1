# Everything runs in .venv, made from Python 3.11 or newer and the pinned versions in constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help run test lint docs dist bench mutants pendulum reachable fingerprints results study clean

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

run: $(VENV)/installed  ## six skills in the Hard maze, with pictures and a film of them (a few minutes)
	$(BIN)/leads train --task maze-hard --samples 500000 --out runs/demo-$$(date +%Y%m%d-%H%M%S)
	$(BIN)/leads skills $$(ls -td runs/demo-* | head -1)

test: $(VENV)/installed  ## all tests, one process per core
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile

lint: $(VENV)/installed  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

docs: $(VENV)/installed  ## the documentation as a site: site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

dist: $(VENV)/installed  ## a wheel and a source distribution, in dist/
	$(BIN)/python -m build --no-isolation

$(VENV)/bench: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[bench]'
	touch $@

bench: $(VENV)/bench  ## speed beside other libraries, 0.3.0 and the machine's peak, on one core (about fifteen minutes)
	$(BIN)/python studies/speed.py
	$(BIN)/python studies/simulators.py

mutants: $(VENV)/installed  ## faults put into the code one by one: does a test notice each? (about half an hour)
	$(BIN)/python studies/mutants.py

pendulum: $(VENV)/installed  ## SAC on a task with a known solution, three seeds (about fifteen minutes)
	$(BIN)/python studies/pendulum.py

reachable: $(VENV)/installed  ## cells of the finger's grid that long play without learning reaches (some minutes)
	$(BIN)/python studies/reachable.py

fingerprints: $(VENV)/installed  ## old version beside new, what runs compute (minutes)
	$(BIN)/python studies/fingerprints.py

results: $(VENV)/installed  ## the tables in README.md and docs/ from studies/results/
	$(BIN)/python studies/tables.py

study: $(VENV)/installed  ## the report of the published runs, from studies/results/: docs/study/index.html
	$(BIN)/python studies/published.py docs/study

clean:  ## removes the virtual environment (runs/ stays)
	rm -rf $(VENV)
