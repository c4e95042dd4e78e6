# The two commands: `make demo` shows the main job, `make test` runs everything.
# Both need Rust, Python 3 and Node, and nothing else.

CARGO ?= cargo

# Everything that can be switched on, so that one build serves all tests.
FULL = --features omniroute-compress/store-sqlite,omniroute-gateway/blobs,omniroute/tokens-exact,omniroute/router \
  --features omniroute-resilience/simulator,omniroute-resilience/store-sqlite,omniroute-resilience/store-redis \
  --features omniroute-providers/bedrock,omniroute-providers/radar,omniroute-providers/sigv4 \
  --features omniroute-providers/clock-tokio,omniroute-providers/transport-reqwest
# The stores with real files and servers, and the simulator.
SHARED = -p omniroute-resilience --features simulator,store-sqlite,store-redis

.PHONY: help demo test fmt clippy layering unit catalog-check features stores simulator doc smoke ready bench bench-route bench-wire bench-gateway estimator
.PHONY: examples soak eval rtk-report prose-report resilience-report route-report wire-report fuzz bless new-engine new-filter

help:
	@echo "make demo        compress a recorded agent session turn by turn, then route it past failing vendors (no keys, no network)"
	@echo "make test        every check: format, lints, layering, tests, docs, demo, bench smoke"
	@echo "make bench       figures of compression on this machine"
	@echo "make bench-route figures of routing on this machine"
	@echo "make bench-wire  figures of reading and writing requests and streams"
	@echo "make bench-gateway  figures of the gateway, beside other gateways"
	@echo "make estimator   error of the token estimator against exact counts"
	@echo "make eval        what plans save and keep on recorded sessions: tokens, money, needles, quotes, next steps"
	@echo "make prose-report  what is removed of users' texts, by session and level"
	@echo "make rtk-report  what the filters save and keep of the recorded outputs"
	@echo "make catalog-check  the rules of the catalogue of providers and models"
	@echo "make resilience-report  the fault scripts of the simulator on every store, full number"
	@echo "make examples    small programs that route requests to played vendors"
	@echo "make wire-report every check of the wires over every recorded exchange, by vendor"
	@echo "make route-report what the learning policy gains in the simulator; ten minutes (SEEDS=\"1 4 201 204\" takes two)"
	@echo "make tokens-exact exact token counts against the reference, over every recorded text"
	@echo "make soak        five minutes of clients, failing vendors and a kill -9 against the gateway"
	@echo "make clients     official clients of OpenAI, Anthropic and Gemini against the gateway"
	@echo "make python, make node  the package of one language, with its tests and the frameworks it adapts to"
	@echo "make dist        wheels and npm tarballs, and a proof that they install and work offline"
	@echo "make fuzz        two minutes of fuzzing (needs cargo-fuzz and nightly)"
	@echo "make bless       rewrite the checked-in snapshots"
	@echo "make new-engine NAME=x   file and line of a new engine"
	@echo "make new-filter NAME=x   file of a new filter of command output (COMMAND=\"x y\" CATEGORY=build)"

demo:
	$(CARGO) run --release -q -p replay-session

test: fmt clippy layering unit clients catalog-check features doc smoke python node
	@echo "all checks passed"

ready: test

fmt:
	$(CARGO) fmt --all --check

clippy:
	$(CARGO) clippy -q --workspace --all-targets $(FULL) -- -D warnings
	$(CARGO) clippy -q --workspace -- -D warnings

layering:
	python3 .ci/layering.py

# With real files, a real redis-server, sockets on loopback and the fault simulator.
unit:
	$(CARGO) test --workspace $(FULL)

catalog-check:
	$(CARGO) run -q -p omniroute-providers --example catalog_check

# Programs that route requests to played vendors.
examples:
	$(CARGO) run -q -p fallback-two-providers
	$(CARGO) run -q -p auto-route
	$(CARGO) run -q -p custom-strategy
	$(CARGO) run -q -p agent-loop

# Each feature alone must build.
features:
	$(CARGO) check -q -p omniroute-core --no-default-features
	$(CARGO) check -q -p omniroute-core --features testing
	$(CARGO) check -q -p omniroute-compress --no-default-features
	$(CARGO) check -q -p omniroute-resilience --features store-sqlite
	$(CARGO) check -q -p omniroute-resilience --features store-redis
	$(CARGO) check -q -p omniroute-providers --features bedrock
	$(CARGO) check -q -p omniroute-providers --features radar
	$(CARGO) check -q -p omniroute-providers --features sigv4
	$(CARGO) check -q -p omniroute-providers --features transport-reqwest
	$(CARGO) check -q -p omniroute-providers --features clock-tokio
	$(CARGO) check -q -p omniroute --features router
	$(CARGO) check -q -p omniroute-gateway --no-default-features

# With real files and a real redis-server.
stores:
	$(CARGO) test -q $(SHARED) --lib --test store_kinds

simulator:
	$(CARGO) test -q $(SHARED) --test sim

# Every fault script on every store; takes hours. Rows are kept, so that it can go on where it stopped.
resilience-report:
	$(CARGO) run --release -q $(SHARED) --example resilience_report -- --rows target/resilience-rows.tsv --out docs/src/resilience-report.md

# Five minutes of faults against the gateway.
soak:
	SOAK_SECONDS=300 SOAK_REPORT=$(CURDIR)/docs/src/soak-report.md SOAK_DATE="$(shell date +%F), $(shell uname -sm)" $(CARGO) test -p omniroute-gateway --test soak -- --nocapture

route-report:
	$(CARGO) run --release -q -p omniroute-route --example route_report -- $(or $(SEEDS),1 20 201 220) "$(shell date +%F)" "$(shell uname -sm), $(shell nproc) cores" > docs/src/route-report.md.new
	mv docs/src/route-report.md.new docs/src/route-report.md

# Needs the recorded exchanges.
wire-report:
	$(CARGO) run -q -p omniroute-providers --all-features --example wire_report -- docs/src/wire-report.md "$(shell date +%F)" "$(shell uname -sm)"

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc -q --workspace --no-deps

smoke:
	$(CARGO) bench -q -p omniroute-compress --bench compress -- --smoke
	$(MAKE) -s demo

bench:
	$(CARGO) bench -q -p omniroute-compress --bench compress

# Other gateways are put beside it under target/peers; WORDS="--without-peers" leaves them out.
bench-gateway:
	python3 examples/gateway-bench/peers.py $(WORDS)

bench-wire:
	$(CARGO) bench -q -p omniroute-core --bench wire

bench-route:
	$(CARGO) bench -q -p omniroute-route --bench route

estimator:
	$(CARGO) run --release -q -p omniroute-core --example estimator_error

eval:
	$(CARGO) run --release -q -p omniroute-compress --example compress_eval

rtk-report:
	$(CARGO) run --release -q -p omniroute-compress --example rtk_report

prose-report:
	$(CARGO) run --release -q -p omniroute-compress --example prose_report

fuzz:
	cd fuzz && for target in doc_parse wire_read sse_read ndjson_read rtk_output rtk_filter rtk_screen rtk_detect rtk_command rtk_diff prose_scan; do $(CARGO) +nightly fuzz run $$target -- -max_total_time=60 || exit 1; done

bless:
	BLESS=1 $(CARGO) test -q --workspace
	BLESS=1 $(CARGO) test -q --workspace $(FULL)

new-engine:
	@test -n "$(NAME)" || { echo "say NAME=the-name"; exit 2; }
	python3 .ci/new_engine.py "$(NAME)"
	$(CARGO) fmt -p omniroute-compress

new-filter:
	@test -n "$(NAME)" || { echo "say NAME=the-name"; exit 2; }
	python3 .ci/new_filter.py "$(NAME)" "$(COMMAND)" "$(CATEGORY)"

# The packages of other languages; they set up their environments themselves, under target/python and target/node.
.PHONY: clients python python-adapters python-stubs python-dist python-measure
.PHONY: node node-adapters node-dist node-measure dist measure tokens-exact

# Official clients against `omniroute serve`, in front of vendors that say what real ones have said; and a reader of its
# description that calls everything in it.
clients:
	python3 bindings/python/tasks.py clients
	node bindings/node/tasks.mjs clients

python:
	python3 bindings/python/tasks.py test
	python3 bindings/python/tasks.py adapters

python-stubs python-dist python-measure:
	python3 bindings/python/tasks.py $(patsubst python-%,%,$@)

node:
	node bindings/node/tasks.mjs test
	node bindings/node/tasks.mjs adapters

node-dist node-measure:
	node bindings/node/tasks.mjs $(patsubst node-%,%,$@)

dist: python-dist node-dist

measure: python-measure node-measure

# Exact token counts against the reference, over every recorded text.
tokens-exact:
	$(CARGO) test -q -p omniroute --features tokens-exact
