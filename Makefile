# Every word is one call of bootstrap.py, which installs what is missing; `python3 bootstrap.py run` works without make.
PYTHON ?= python3
ARGS ?=

.PHONY: run test search check install browser bench soak messages clean

run:       ; @$(PYTHON) bootstrap.py run $(ARGS)
test:      ; @$(PYTHON) bootstrap.py test $(ARGS)
search:    ; @$(PYTHON) bootstrap.py search $(ARGS)
check:     ; @$(PYTHON) bootstrap.py check $(ARGS)
install:   ; @$(PYTHON) bootstrap.py install
browser:   ; @.ci/browser
bench:     ; @$(PYTHON) bootstrap.py python benchmarks/run.py $(ARGS)
soak:      ; @$(PYTHON) bootstrap.py python benchmarks/soak.py $(ARGS)
messages:  ; @$(PYTHON) bootstrap.py manage compilemessages
clean:     ; rm -rf .venv
