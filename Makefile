# SPDX-License-Identifier: GPL-2.0-only
# The commands of the README and nothing clever: ./mmbatch does the work.

ARGS ?=
KERNEL ?= 7.3
SPEEDUPS ?= $(patsubst speedups/%/speedup.toml,%,$(shell grep -l '^\[hosted' $$(grep -l '^\[\[step' \
	speedups/[!_]*/speedup.toml)))

.DEFAULT_GOAL := help
.PHONY: help bench report results check test test-all lint

help:
	@echo 'make bench   measure one speed-up (zone_device) on this machine'
	@echo '             (installs missing Debian packages with apt, and names them)'
	@echo 'make report  measure all speed-ups, interleaved, and write report.html'
	@echo 'make results MACHINE=NAME'
	@echo '             measure all speed-ups on Linux 7.3, and keep the records in'
	@echo '             results/; KERNEL=6.12 and SPEEDUPS=zone_device change what,'
	@echo '             UNTIL=core adds rows for the core, EACH=1 for each step'
	@echo 'make check   compare patched kernel code with the original, on all kernels'
	@echo 'make test    run what must pass before a commit: 25 minutes on two cores;'
	@echo '             SPEEDUP=vmap runs what a change of it can break, PART=units one stage'
	@echo 'make test-all'
	@echo '             run what must pass before a release: hours, in parts that are kept for'
	@echo '             the commit, so that it goes on where it ended; PART=mutants runs one'
	@echo 'make lint    check style and types'
	@echo ''
	@echo 'Variables:'
	@echo '  ARGS="..."            more arguments, as in: make bench ARGS="--kernel 6.12 --quick"'
	@echo '  MMBATCH_CACHE=DIR     directory for kernels, builds and the Python environment'
	@echo '                        (DIR/mmbatch; by default ~/.cache/mmbatch)'
	@echo ''
	@echo 'See ./mmbatch --help for everything else.'

# Exit code 4 says that the machine was too noisy, which is no error of make.
bench:
	@./mmbatch bench zone_device --install $(ARGS) || test $$? -eq 4

report:
	@./mmbatch bench --install --html report.html $(ARGS) || test $$? -eq 4

# What bench finds slower or cannot tell is kept like everything else. Records with a row
# for the core, or for each step, have a directory of their own.
results: KEPT_IN = $(if $(EACH),steps/,$(if $(UNTIL),$(UNTIL)/))
results:
	@test -n '$(MACHINE)' || { echo 'name it, as in: make results MACHINE=zen5-2c' >&2; exit 2; }
	@mkdir -p results/$(KEPT_IN)
	@for name in $(SPEEDUPS); do \
		file="results/$(KEPT_IN)$$name-$(KERNEL)-$(MACHINE).json"; \
		rm -f "$$file.new"; \
		./mmbatch bench "$$name" --install --kernel $(KERNEL) --record "$$file.new" \
			$(if $(UNTIL),--until $(UNTIL)) $(if $(EACH),--each) $(ARGS); \
		test -f "$$file.new" || exit 1; \
		mv "$$file.new" "$$file"; \
	done
	@./mmbatch report results/*.json --svg results/overview.svg
	@./mmbatch report results/*.json results/[cps]*/*.json --markdown results/README.md
	@for page in results/[a-z]*.md; do \
		./mmbatch report "$${page%.md}"-*.json --markdown "$$page"; \
	done
	@for page in $$(grep -l '^<!-- results$$' README.md speedups/*/README.md); do \
		./mmbatch report results/core/*.json results/*.json --markdown "$$page"; \
	done

check:
	@./mmbatch check --install $(ARGS)

test:
	@tests/run.py $(if $(SPEEDUP),--speedup $(SPEEDUP)) $(PART)

test-all:
	@tests/run.py --all $(PART)

lint:
	@tests/run.py style
