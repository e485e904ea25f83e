"""How long from nothing to the first remembered sentence? By a package, by the steps of the image, or by a checkout.

Needs nothing but Python, so that it runs as any user, by any Python there is:

    python3 benchmarks/installing.py pip --folder "/tmp/a folder" --dist dist
    python3 benchmarks/installing.py image --folder "/tmp/a folder" --dist dist --lock deploy/requirements.lock
    python3 benchmarks/installing.py checkout --folder "/tmp/a folder" --source .

Every command is printed as a person would type it, run with an empty HOME in the folder, and timed; in the end the
platform has to answer a question with the sentence it was given. The folder must be new.
"""

import argparse
import getpass
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

SENTENCE = "My sister Lena cannot eat walnuts, they make her ill."
QUESTION = "What should I leave out when I bake for Lena?"
WITHIN = 900.0


def commands(options: argparse.Namespace) -> tuple[list[list[str]], list[str]]:
    """What is typed before the start, and the start."""
    python, dist = options.python, Path(options.dist).absolute()
    pip, start = "venv/bin/pip", ["venv/bin/memplatform", "up"]
    make = [python, "-m", "venv", "venv"]
    if options.way == "pip":
        package = f"memplatform[{options.extras}]" if options.extras else "memplatform"
        return [make, [pip, "install", "--quiet", "--find-links", str(dist), package]], start
    if options.way == "image":
        lock = str(Path(options.lock).absolute())
        wheels = [str(wheel) for wheel in sorted(dist.glob("memplatform*.whl"))]
        from_lock = [pip, "install", "--quiet", "--require-hashes", "-r", lock]
        return [make, from_lock, [pip, "install", "--quiet", "--no-deps", *wheels]], start
    clone = ["git", "clone", "--quiet", str(Path(options.source).absolute()), "checkout"]
    return [clone], [python, "checkout/bootstrap.py", "run"]


def main(words: list[str]) -> int:
    """Prints a line for each step and one row of a table at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["pip", "image", "checkout"])
    parser.add_argument("--folder", type=Path, required=True, help="is made; give it a space")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--dist", default="dist", help="where the two wheels are")
    parser.add_argument("--lock", default="deploy/requirements.lock")
    parser.add_argument("--source", default=".", help="what is cloned")
    parser.add_argument("--extras", default="", help="of the package, with commas")
    parser.add_argument("--port", default="8731")
    options = parser.parse_args(words)
    options.folder.mkdir(mode=0o700)
    home = options.folder / "home"
    home.mkdir()
    variables = {name: text for name, text in os.environ.items() if not name.startswith(("MEM", "XDG_", "DATABASE"))}
    environment = {**variables, "HOME": str(home), "MEMPLATFORM_PORT": options.port, "MEMPLATFORM_MCP": "no"}
    before, start = commands(options)
    seconds = [run(command, options.folder, environment) for command in before]
    ready, first = started(start, options, environment)
    version = subprocess.run([options.python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    who = f"{getpass.getuser()}, Python {version}, {platform.machine()}"
    install = sum(seconds)
    print(f"| {options.way} | {who} | {len(before) + 3} | {install:.0f} s | {ready:.0f} s | {first:.1f} s | ", end="")
    print(f"{install + ready + first:.0f} s |", flush=True)
    return 0


def run(command: list[str], folder: Path, environment: dict[str, str]) -> float:
    """Seconds it took; its error ends everything."""
    print("$", shlex.join(command), flush=True)
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env=environment, check=True)
    print(f"  {time.monotonic() - began:.1f} s", flush=True)
    return time.monotonic() - began


def started(start: list[str], options: argparse.Namespace, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds until it greets, and from there until it has answered with what it was given; it is stopped again."""
    print("$", shlex.join(start), flush=True)
    began = time.monotonic()
    process = subprocess.Popen(start, cwd=options.folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        for line in process.stdout:
            print(" ", line.rstrip(), flush=True)
            if "Ctrl-C" in line:
                break
            if time.monotonic() - began > WITHIN:
                raise SystemExit("It was not ready in time.")
        if process.poll() is not None:
            raise SystemExit("It did not start.")
        ready = time.monotonic() - began
        remember_and_ask(caller(options, environment))
        return ready, time.monotonic() - began - ready
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def caller(options: argparse.Namespace, environment: dict[str, str]) -> Callable[[str, dict[str, object]], str]:
    """Calls the API with the key of the first start, as the two curls of the README do."""
    (key,) = options.folder.rglob("credentials/bot-key")
    headers = {"Authorization": f"Bearer {key.read_text().strip()}", "Content-Type": "application/json"}

    def call(path: str, body: dict[str, object]) -> str:
        address = f"http://127.0.0.1:{environment['MEMPLATFORM_PORT']}/api/v1/{path}"
        request = urllib.request.Request(address, json.dumps(body).encode(), headers)  # noqa: S310 - this machine
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - the same
            return str(answer.read().decode())

    return call


def remember_and_ask(call: Callable[[str, dict[str, object]], str]) -> None:
    """A sentence, and a question it answers."""
    address = {"platform": "cli"}
    call("turns", {"address": address, "user": SENTENCE, "assistant": "Noted: no walnuts for Lena."})
    answer = call("recall", {"address": address, "message": QUESTION, "limit": 3})
    if SENTENCE not in answer:
        raise SystemExit(f"It does not remember: {answer}")
    print("$ curl … turns; curl … recall\n  remembered and found", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
