# The two commands: `make demo` shows the main job, `make test` runs everything.
# Both need Rust, Python 3 and Node, and nothing else.

CARGO ?= cargo

.PHONY: help demo test fmt clippy layering unit catalog-check features doc fuzz-build smoke ready bench eval estimator rtk-report fuzz bless new-engine new-filter

help:
	@echo "make demo        compress a recorded agent session turn by turn (no keys, no network)"
	@echo "make test        every check: format, lints, layering, tests, docs, demo, bench smoke"
	@echo "make bench       figures of compression on this machine"
	@echo "make estimator   error of the token estimator against exact counts"
	@echo "make eval        what plans save and keep on recorded sessions: tokens, money, needles, quotes, next steps"
	@echo "make rtk-report  what the filters save and keep of the recorded outputs"
	@echo "make catalog-check  the rules of the catalogue of providers and models"
	@echo "make fuzz        two minutes of fuzzing (needs cargo-fuzz and nightly)"
	@echo "make bless       rewrite the checked-in snapshots"
	@echo "make new-engine NAME=x   file and line of a new engine"
	@echo "make new-filter NAME=x   file of a new filter of command output (COMMAND=\"x y\" CATEGORY=build)"

demo:
	$(CARGO) run --release -q -p replay-session

test: fmt clippy layering unit catalog-check features doc smoke
	@echo "all checks passed"

ready: test

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy -q --workspace --all-targets -- -D warnings

layering:
	python3 .ci/layering.py

unit:
	$(CARGO) test --workspace

catalog-check:
	$(CARGO) run -q -p omniroute-providers --example catalog_check

# Each feature alone must build.
features:
	$(CARGO) check -q -p omniroute-core --no-default-features
	$(CARGO) check -q -p omniroute-core --features testing
	$(CARGO) check -q -p omniroute-compress --no-default-features
	$(CARGO) test -q -p omniroute-compress --features store-sqlite --test sqlite_blobs
	$(CARGO) test -q -p omniroute-providers --features radar

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -q --workspace --no-deps

smoke:
	$(CARGO) bench -q -p omniroute-compress --bench compress -- --smoke
	$(MAKE) -s demo

bench:
	$(CARGO) bench -q -p omniroute-compress --bench compress

estimator:
	$(CARGO) run --release -q -p omniroute-core --example estimator_error

eval:
	$(CARGO) run --release -q -p omniroute-compress --example compress_eval

rtk-report:
	$(CARGO) run --release -q -p omniroute-compress --example rtk_report

fuzz:
	cd fuzz && for target in doc_parse wire_read rtk_output rtk_filter; do $(CARGO) +nightly fuzz run $$target -- -max_total_time=60 || exit 1; done

bless:
	BLESS=1 $(CARGO) test -q --workspace

new-engine:
	@test -n "$(NAME)" || { echo "say NAME=the-name"; exit 2; }
	python3 .ci/new_engine.py "$(NAME)"

new-filter:
	@test -n "$(NAME)" || { echo "say NAME=the-name"; exit 2; }
	python3 .ci/new_filter.py "$(NAME)" "$(COMMAND)" "$(CATEGORY)"

# The Python package; see bindings/python/tasks.py. Set up their environments themselves, under target/python.
.PHONY: python python-adapters python-stubs python-dist python-measure tokens-exact
python:
	python3 bindings/python/tasks.py test

python-adapters:
	python3 bindings/python/tasks.py adapters

python-stubs:
	python3 bindings/python/tasks.py stubs

python-dist:
	python3 bindings/python/tasks.py dist

python-measure:
	python3 bindings/python/tasks.py measure

# Exact token counts against the reference, over every recorded text.
tokens-exact:
	$(CARGO) test -q -p omniroute --features tokens-exact
