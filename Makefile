# Needs Python 3.11 or later, make and the package registry; everything else goes into .venv.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= auto

.PHONY: help demo demo-100m test test-deep lint format bench bench-quick bench-100m accept clean

help:
	@echo "make demo       check a transformer, explain a conflict, run a training step on a simulated mesh"
	@echo "make demo-100m  three training steps of a GPT of 110 million parameters on 4 devices, compared with one"
	@echo "make test       the test suite"
	@echo "make test-deep  the long random tests too"
	@echo "make lint       ruff and mypy"
	@echo "make bench      Kina beside XLA and Shardy: times, collectives, memory, order, conflicts; a quarter of an hour"
	@echo "make bench-quick a small run of the same, in three minutes"
	@echo "make bench-100m a step of the large demo in the simulator, in XLA, and its matrix products alone"
	@echo "make accept     accept the printed messages as the new snapshots, and rebuild generated docs"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kina needs Python 3.11 or later")'
	$(PYTHON) -m venv .venv

.venv/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

.venv/.developed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]'
	@touch $@ .venv/.installed

demo: .venv/.installed
	$(BIN)/kina check examples/megatron.kina
	@echo
	@echo "a program whose annotations contradict each other:"
	$(BIN)/kina check examples/conflict.kina; test $$? -eq 1
	@echo
	@echo "three training steps on four simulated devices, each compared with one device:"
	$(BIN)/kina run examples/gpt_train_tensor.kina --steps 3 --verify

demo-100m: .venv/.installed
	$(BIN)/kina run examples/gpt_100m.kina --steps 3 --verify

test: .venv/.developed
	$(BIN)/python -m pytest -n $(WORKERS) -m "not deep"

test-deep: .venv/.developed
	$(BIN)/python -m pytest -n $(WORKERS)

lint: .venv/.developed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.developed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.developed
	$(BIN)/python -m bench

bench-quick: .venv/.developed
	$(BIN)/python -m bench --quick

bench-100m: .venv/.developed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[xla]'
	$(BIN)/python -m bench steps --model large

accept: .venv/.developed
	$(BIN)/python -m tests.accept

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
