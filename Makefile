# SPDX-License-Identifier: GPL-2.0-only
# The commands of the README and nothing clever: ./mmbatch does the work.

ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help bench report check test lint

help:
	@echo 'make bench   measure one speed-up (zone_device) on this machine against a real kernel'
	@echo '             (installs what is missing with apt, and says what)'
	@echo 'make report  measure every speed-up in turns, and write report.html'
	@echo 'make check   compare patched kernel code with its oracle, byte for byte, on all kernels'
	@echo 'make test    run all of this project'"'"'s tests, make lint and make check among them'
	@echo 'make lint    check style and types'
	@echo ''
	@echo 'Knobs:'
	@echo '  ARGS="..."            more arguments, as in: make bench ARGS="--kernel 6.12 --quick"'
	@echo '  XDG_CACHE_HOME=DIR    where kernels, builds and the Python environment are kept'
	@echo '                        (DIR/mmbatch; by default ~/.cache/mmbatch)'
	@echo '  MMBATCH_NO_VENV=1     use python3 as it is, where it has all that is needed'
	@echo ''
	@echo './mmbatch --help tells everything else.'

bench:
	@./mmbatch bench zone_device --install $(ARGS)

report:
	@./mmbatch bench --install --html report.html $(ARGS)

check:
	@./mmbatch check --install $(ARGS)

test:
	@MMBATCH_DEV=1 ./mmbatch test --install $(ARGS)

lint:
	@MMBATCH_DEV=1 MMBATCH_INSTALL=1 ./mmbatch test --lint
