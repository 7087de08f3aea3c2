# Two commands matter: `make demo` and `make test`. Each makes .venv itself when it is missing.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test test-pandas3 check bench audit docs clean

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/discreet demo

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/test_architecture.py

test: $(STAMP)
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not audit'

# the tests of frames under the other major version of pandas: .venv once more, with pandas 3 before it
PANDAS3 := .venv-pandas3
FRAMES := bad_texts_in_frames identifiers_are_injective objects_are_cells one_identifier_moves_one_person \
  one_meaning_of_a_cell sources_agreement sources_frames sources_open sources_persons types_of_parts
PURELIB := import sysconfig; path = sysconfig.get_path("purelib")
$(PANDAS3)/.installed: $(STAMP)
	$(BIN)/python -m venv $(PANDAS3)
	$(BIN)/python -c '$(PURELIB); print(f"import site; site.addsitedir({path!r})")' \
	  > "$$($(PANDAS3)/bin/python -c '$(PURELIB); print(path)')/base.pth"
	$(PANDAS3)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'pandas==3.1.1'
	touch $@

test-pandas3: $(PANDAS3)/.installed
	$(PANDAS3)/bin/python -c 'import pandas; assert pandas.__version__.startswith("3.")'
	$(PANDAS3)/bin/python -m pytest -n 2 --dist worksteal $(FRAMES:%=tests/sources/test_%.py)

# make audit ONLY=name runs the checks whose name contains it; figures are printed at the end, results are kept
audit: $(STAMP)
	$(BIN)/python -m pytest -n 2 -rP -m audit $(if $(ONLY),-k '$(ONLY)')

bench: $(STAMP)
	$(BIN)/python -m benchmarks

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	$(BIN)/mkdocs build --strict

clean:
	rm -rf .venv $(PANDAS3) build dist site
