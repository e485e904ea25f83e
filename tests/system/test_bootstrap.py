"""`python3 bootstrap.py …` on machines that lack something: it works, or says in one sentence why not."""

import ast
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memplatform.setup import installation
from memplatform.setup.installation import EMBEDDER, PACKAGES, TOOLS, Venv, pip_error
from tests import ROOT

MANAGE = "import sys\nprint('managed', sys.prefix, *sys.argv[1:])\n"


@pytest.fixture
def clone() -> Iterator[Path]:
    top = _clone()
    yield top
    top.chmod(0o755)
    shutil.rmtree(top)


def _clone() -> Path:
    """The parts of a clone that installing needs, with nothing to install, in a folder with a space."""
    top = Path(tempfile.mkdtemp(prefix="a clone "))
    top.chmod(0o755)
    (top / "memplatform" / "setup").mkdir(parents=True)
    modules = ("__init__.py", "setup/__init__.py", "setup/installation.py")
    for file in ("bootstrap.py", *(f"memplatform/{module}" for module in modules)):
        shutil.copy(ROOT / file, top / file)
    for file in (PACKAGES, EMBEDDER, TOOLS):
        (top / file).write_text("# nothing\n")
    (top / "manage.py").write_text(MANAGE)
    return top


@dataclass
class FirstStarts:
    clone: Path
    codes: list[int]
    outputs: list[str]


@pytest.fixture(scope="module")
def first_starts() -> Iterator[FirstStarts]:
    """Two at once in a fresh clone."""
    top = _clone()
    both = [
        subprocess.Popen(
            [sys.executable, str(top / "bootstrap.py"), "manage", "greet", "the world"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    results = [process.communicate(timeout=60)[0] for process in both]
    yield FirstStarts(top, [process.returncode for process in both], results)
    shutil.rmtree(top)


@pytest.fixture
def installed(clone: Path, first_starts: FirstStarts) -> Path:
    """A clone that was started before."""
    shutil.copytree(first_starts.clone / ".venv", clone / ".venv", symlinks=True)
    return clone


def bootstrap(clone: Path, *words: str, **more: object) -> subprocess.CompletedProcess[str]:
    options = {"capture_output": True, "text": True, "timeout": 60, **more}
    return subprocess.run([sys.executable, str(clone / "bootstrap.py"), *words], **options)  # type: ignore[call-overload]


def pretending(clone: Path, lines: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it in a Python that was changed first."""
    run = "sys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')"
    program = f"import runpy, sys\n{lines}\n{run}"
    return subprocess.run(
        [sys.executable, "-c", program, str(clone / "bootstrap.py"), *words],
        capture_output=True,
        text=True,
        timeout=60,
        env={**{name: value for name, value in os.environ.items() if name != "DATABASE_URL"}, **environment},
    )


def is_one_sentence(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith(".\n") and "Traceback" not in text


def test_two_first_starts_at_once_install_once_and_become_their_commands(first_starts: FirstStarts) -> None:
    assert first_starts.codes == [0, 0]
    closing = f"managed {first_starts.clone}/.venv greet the world"
    assert [text.splitlines()[-1] for text in first_starts.outputs] == [closing] * 2
    assert sum("Making a virtual environment" in text for text in first_starts.outputs) == 1


def test_a_second_start_is_instant(installed: Path) -> None:
    began = time.monotonic()
    assert bootstrap(installed, "manage").stdout == f"managed {installed}/.venv\n"
    assert time.monotonic() - began < 2


def test_tools_are_installed_only_for_those_who_test(installed: Path) -> None:
    venv = Venv(installed)
    assert venv.has((PACKAGES, EMBEDDER))
    assert not venv.has((TOOLS,))


def test_a_changed_list_is_installed_again(installed: Path) -> None:
    (installed / PACKAGES).write_text("# another\n")
    assert not Venv(installed).has((PACKAGES,))
    assert bootstrap(installed, "run").returncode == 0
    assert Venv(installed).has((PACKAGES,))


def test_one_killed_half_way_is_repaired_by_the_next(clone: Path) -> None:
    broken = subprocess.Popen(
        [sys.executable, str(clone / "bootstrap.py"), "install"],
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    while not (clone / ".venv" / "bin").exists():
        time.sleep(0.01)
    os.killpg(broken.pid, signal.SIGKILL)
    broken.wait()
    assert not Venv(clone).has((PACKAGES,))
    assert bootstrap(clone, "manage").stdout.splitlines()[-1] == f"managed {clone}/.venv"


def test_without_the_embedding_model_it_says_so_and_goes_on(installed: Path) -> None:
    (installed / EMBEDDER).write_text("./not-there\n")
    result = bootstrap(installed, "manage")
    assert result.returncode == 0
    assert "recall will be keyword-only" in result.stdout
    by_itself = bootstrap(installed, "manage").stdout
    assert by_itself == f"managed {installed}/.venv\n"  # it does not try again
    assert "recall will be keyword-only" in bootstrap(installed, "install").stdout


def test_packages_that_cannot_be_had_are_told_in_a_sentence(installed: Path) -> None:
    (installed / PACKAGES).write_text("./not-there\n")
    result = bootstrap(installed, "run")
    assert result.returncode == 1
    assert is_one_sentence(result.stderr)
    assert str(installed / ".venv" / "install.log") in result.stderr


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "the disk is full"),
        ("NewConnectionError: Failed to establish a new connection", "there is no network"),
        ("PermissionError: [Errno 13] Permission denied: 'x'", "the folder is not writable"),
        ("ERROR: Cannot unpack file", "Cannot unpack file"),
    ],
)
def test_what_pip_says_at_length_becomes_a_sentence(statement: str, sentence: str) -> None:
    result = pip_error("The packages could not be installed", f"noise\n{statement}\n", Path("install.log"))
    assert sentence in result
    assert result.endswith(".")


def test_no_network_is_told_plainly(installed: Path) -> None:
    """Port 9 of this machine stands for an index nobody answers at."""
    (installed / PACKAGES).write_text("a-package-of-nobody==1.0\n")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    quick = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0"}
    result = bootstrap(installed, "run", env={**os.environ, **nowhere, **quick})
    assert is_one_sentence(result.stderr)
    assert "there is no network" in result.stderr


def test_an_old_python_is_told_plainly(clone: Path) -> None:
    result = pretending(clone, "sys.version_info = (3, 9, 2)", "run", PATH="/nowhere")
    assert result.returncode == 1
    assert is_one_sentence(result.stderr)
    assert "Python 3.11 or newer is needed, and this is 3.9" in result.stderr


def test_an_old_python_hands_over_to_a_newer_one_on_the_path(installed: Path) -> None:
    shelf = installed / "bin"
    shelf.mkdir()
    (shelf / "python3.11").write_text("#!/bin/sh\nexit 127\n")  # a shim of something that is not installed
    (shelf / "python3.11").chmod(0o755)
    (shelf / "python3.12").symlink_to(sys.executable)
    result = pretending(installed, "sys.version_info = (3, 9, 2)", "manage", PATH=str(shelf))
    assert result.stdout.splitlines()[-1] == f"managed {installed}/.venv"


def test_old_pythons_can_read_it_at_all() -> None:
    ast.parse((ROOT / "bootstrap.py").read_text(), feature_version=(3, 6))


def test_a_missing_venv_module_is_told_plainly(clone: Path) -> None:
    result = pretending(clone, "sys.modules['ensurepip'] = None", "run")
    assert result.returncode == 1
    assert is_one_sentence(result.stderr)
    assert "python3-venv" in result.stderr


def test_a_folder_that_cannot_be_written_is_told_plainly(clone: Path) -> None:
    clone.chmod(0o555)
    somebody = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
    program = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    result = subprocess.run(
        [program, "-B", str(clone / "bootstrap.py"), "run"],
        capture_output=True,
        text=True,
        cwd="/",
        **somebody,
    )
    assert result.returncode == 1
    assert is_one_sentence(result.stderr)
    assert "not writable" in result.stderr


def test_a_full_disk_is_told_before_anything_is_begun(clone: Path) -> None:
    full = "import shutil\nshutil.disk_usage = lambda path: shutil._ntuple_diskusage(10**12, 10**12, 10**6)"
    result = pretending(clone, full, "run")
    assert is_one_sentence(result.stderr)
    assert "is full" in result.stderr
    assert not (clone / ".venv" / "bin").exists()


def test_a_processor_too_old_is_told_before_anything_is_installed(clone: Path) -> None:
    (clone / "cpuinfo").write_text("processor : 0\nflags : fpu sse sse2 avx\n")
    old = "import memplatform.setup.installation as p\nask = p.unsupported_reason\n"
    old += f"p.unsupported_reason = lambda: ask('x86_64', __import__('pathlib').Path({str(clone / 'cpuinfo')!r}))"
    result = pretending(clone, f"sys.path.insert(0, {str(clone)!r})\n{old}", "run")
    assert is_one_sentence(result.stderr)
    assert "lacks AVX2" in result.stderr
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("machine", "features", "lacking"),
    [
        ("x86_64", "flags : fpu avx avx2", None),
        ("x86_64", "flags : fpu avx", "AVX2"),
        ("aarch64", "Features : fp asimd", "SVE"),
        ("aarch64", "Features : fp asimd sve", None),
        ("riscv64", "isa : rv64", None),
        ("x86_64", "", None),
    ],
)
def test_the_processor_is_judged_by_what_it_says(
    tmp_path: Path, machine: str, features: str, lacking: str | None
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\n{features}\n")
    result = installation.unsupported_reason(machine, tmp_path / "cpuinfo")
    assert (result is None) == (lacking is None)
    assert lacking is None or f"lacks {lacking}" in str(result)


def test_a_system_without_cpuinfo_is_believed(tmp_path: Path) -> None:
    assert installation.unsupported_reason("x86_64", tmp_path / "none") is None


def test_a_word_nobody_knows_is_answered_with_those_that_are_known(clone: Path) -> None:
    result = bootstrap(clone, "fly")
    assert result.returncode == 1
    assert "run|test|quick|check" in result.stderr


def test_every_word_of_make_is_a_word_of_bootstrap() -> None:
    called = [
        line.split("bootstrap.py ")[1].split()[0]
        for line in (ROOT / "Makefile").read_text().splitlines()
        if "$(PYTHON) bootstrap.py" in line
    ]
    assert called and set(called) <= set(installation.WORDS)
