# Every word is one call of bootstrap.py, which installs what is missing; `python3 bootstrap.py run` works without make.
PYTHON ?= python3
ARGS ?=

.PHONY: help run test quick search check clients plugins integrations install browser bench bench-large soak cluster cluster-test cluster-upgrade messages pictures wheel lock licences sbom clean docs

help:
	@echo "make run       start everything; Ctrl-C stops it"
	@echo "make test      run every test"
	@echo "make quick     some tests of every file in under two minutes, while building"
	@echo "make check     style, types, migrations, then every test"
	@echo "make clients   other people's clients, as they are installed, against a platform"
	@echo "make plugins   our plugins in the bots they are for, in whole turns"
	@echo "make integrations  our adapters in the frameworks they are for"
	@echo "make install   only install; tries again what could not be installed before"
	@echo "make search    look at random for examples that break a property"
	@echo "make bench     how quick it is, by all measurements or one: make bench ARGS=latency"
	@echo "make bench-large  a million memories: up to half an hour, 20 GB free"
	@echo "make soak      kill parts of a platform under load and count what it kept"
	@echo "make cluster   nine hosts on this machine, in network namespaces; ARGS=down removes them"
	@echo "make cluster-upgrade  to the next version in that cluster under load, host after host"
	@echo "make cluster-test  faults in that cluster under load, and what became of every call"
	@echo "make browser   install Chromium for the tests of the admin"
	@echo "make pictures  take the pictures of the pages on connecting chat platforms anew"
	@echo "make docs      build the documentation as a site, in English and Chinese, into dist/site/"
	@echo "make messages  compile the translations"
	@echo "make wheel     build the platform and its client to install, into dist/"
	@echo "make lock      name every package with its hashes anew"
	@echo "make licences  list the licences of all packages anew"
	@echo "make sbom      write the bill of materials (CycloneDX) into dist/"
	@echo "make clean     remove .venv; your data stays"

run:       ; @$(PYTHON) bootstrap.py run $(ARGS)
test:      ; @$(PYTHON) bootstrap.py test $(ARGS)
quick:     ; @$(PYTHON) bootstrap.py quick $(ARGS)
search:    ; @$(PYTHON) bootstrap.py search $(ARGS)
check:     ; @$(PYTHON) bootstrap.py check $(ARGS)
clients:   ; @$(PYTHON) bootstrap.py python -m tests.clients $(ARGS)
plugins:   ; @$(PYTHON) bootstrap.py python -m tests.plugins $(ARGS)
integrations: ; @$(PYTHON) bootstrap.py python -m tests.integrations $(ARGS)
install:   ; @$(PYTHON) bootstrap.py install
pictures:  ; @$(PYTHON) bootstrap.py python docs/pictures/take.py $(ARGS)
docs:      ; @$(PYTHON) bootstrap.py python docs/site/build.py $(ARGS)
browser:   ; @.ci/browser
bench:     ; @$(PYTHON) bootstrap.py python -m benchmarks $(ARGS)
bench-large: ; @$(PYTHON) bootstrap.py python -m benchmarks large $(ARGS)
soak:      ; @$(PYTHON) bootstrap.py python -m benchmarks soak $(ARGS)
cluster:   ; @$(PYTHON) bootstrap.py python -m cluster $(ARGS)
cluster-upgrade: ; @$(PYTHON) bootstrap.py python -m cluster upgrade $(ARGS)
cluster-test: ; @$(PYTHON) bootstrap.py python -m cluster test $(ARGS)
messages:  ; @$(PYTHON) bootstrap.py manage compilemessages
wheel:     ; @deploy/build
lock:      ; @deploy/lock
licences:  ; @$(PYTHON) bootstrap.py python deploy/inventory.py page
sbom:      ; @$(PYTHON) bootstrap.py python deploy/inventory.py sbom dist
clean:     ; rm -rf .venv
