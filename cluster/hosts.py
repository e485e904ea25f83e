"""Hosts as network namespaces on one bridge, and the parts that run on them: how they start, fall silent and end.

A host is cut off by taking its cable from the bridge, and slowed down by a relay in between (cluster.relay).
"""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
#: Below it lie the data of every host, logs and secrets; gone when the cluster is taken down.
STATE = Path("/var/lib/memplatform-cluster/state")
TOOLS = STATE.parent / "tools"  # a virtual environment that stays
ACCOUNT = "memcluster"  # of what does not run as root
BRIDGE, NETWORK = "mpbr", "10.77.0"
_MARK = "CLUSTER_PART"  # in the environment of every process of a part
_FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


@dataclass(frozen=True)
class Host:
    name: str
    number: int

    @property
    def address(self) -> str:
        return f"{NETWORK}.{self.number}"

    @property
    def folder(self) -> Path:
        return STATE / self.name


DATABASES = [Host(f"db{n}", n) for n in (1, 2, 3)]
WEBS = [Host(f"web{n}", 10 + n) for n in (1, 2)]
WORKERS = [Host(f"worker{n}", 20 + n) for n in (1, 2)]
LOAD = Host("load", 31)
SPARE = Host("web3", 13)  # a third web, where throughput is measured
HOSTS = [*DATABASES, *WEBS, *WORKERS, LOAD, SPARE]


@dataclass(frozen=True)
class Part:
    """A program on a host, with all processes it starts."""

    host: Host
    name: str
    command: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict, hash=False)
    as_root: bool = False
    core: int | None = None  # the processor it keeps to
    runs: tuple[str, ...] = ()  # programs whose processes forget whose they are, by writing over their environment
    title: str = ""  # of those among the processes of another part that are meant; it starts them again
    code: Path = ROOT  # the folder it is started in, where it runs as root

    @property
    def id(self) -> str:
        return f"{self.host.name}/{self.name}"

    @property
    def log(self) -> Path:
        return self.host.folder / f"{self.name}.log"

    def start(self, skew: int = 0) -> None:
        """Start it, as nobody's child; with a clock that is `skew` seconds ahead."""
        if self.title:
            return
        environment = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **self.environment}
        if skew:
            environment |= {
                "LD_PRELOAD": str(_FAKETIME),
                "FAKETIME": f"{skew:+d}s",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            }
        words = ["env", "-i", *(f"{name}={value}" for name, value in {**environment, _MARK: self.id}.items())]
        if not self.as_root:
            words = ["setpriv", "--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups", *words]
        if self.core is not None:
            words = ["taskset", "-c", str(self.core), *words]
        words = ["ip", "netns", "exec", self.host.name, *words, *self.command]
        with self.log.open("ab") as log:
            # The shell in between ends at once: what watches its parent sees the one it keeps
            run = ["sh", "-c", 'setsid "$@" </dev/null &', "sh", *words]
            subprocess.run(run, cwd=self.code if self.as_root else "/", stdout=log, stderr=log, check=True)

    def pids(self) -> list[int]:
        if self.title:
            return [pid for pid, _part in _processes(self.host) if _title(pid).startswith(self.title)]
        return [pid for pid, part in _processes(self.host) if part == self.id or part in self.runs]

    def is_up(self) -> bool:
        return bool(self.pids())

    def send(self, number: signal.Signals) -> int:
        """Signal all its processes, again until no new one has come; how many there were."""
        pids: set[int] = set()
        while new := set(self.pids()) - pids:
            for pid in new:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
            pids |= new
        return len(pids)

    def end(self, patience: float = 5.0) -> None:
        """Ask it to end, and kill it where it does not."""
        self.send(signal.SIGTERM)
        with suppress(TimeoutError):
            until(lambda: not self.is_up(), patience)
        self.send(signal.SIGKILL)


def _processes(host: Host) -> Iterator[tuple[int, str]]:
    """The processes of a host, each with the part it belongs to, or the program it runs where that is not known."""
    try:
        space = os.stat(f"/run/netns/{host.name}").st_ino
    except FileNotFoundError:
        return
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            if (
                os.stat(folder / "ns" / "net").st_ino != space
                or "Z" in (folder / "stat").read_text().split(")")[-1][:3]
            ):
                continue
            words = (folder / "environ").read_bytes().split(b"\0")
            part = next((w.decode().partition("=")[2] for w in words if w.startswith(f"{_MARK}=".encode())), "")
            yield int(folder.name), part or os.path.basename(os.readlink(folder / "exe"))
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def until(question: Callable[[], object], seconds: float, what: str = "it") -> None:
    end = time.monotonic() + seconds
    while not question():
        if time.monotonic() >= end:
            raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.1)


def run(*words: str, quiet: bool = False) -> str:
    """The output of a command; a failure is an error with its last words, unless `quiet`."""
    process = subprocess.run(words, capture_output=True, text=True)
    if process.returncode and not quiet:
        raise RuntimeError(f"{' '.join(words)}: {(process.stderr or process.stdout).strip()}")
    return process.stdout


def account() -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        run("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT)
        return pwd.getpwnam(ACCOUNT)


def make_hosts() -> None:
    """The bridge and every host on it, with an empty folder each."""
    owner = account()
    STATE.mkdir(parents=True, exist_ok=True)
    for folder in (STATE.parent, STATE):
        folder.chmod(0o755)
    run("ip", "link", "add", BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{NETWORK}.254/24", "dev", BRIDGE)
    run("ip", "link", "set", BRIDGE, "up")
    for host in HOSTS:
        host.folder.mkdir()
        os.chown(host.folder, owner.pw_uid, owner.pw_gid)
        run("ip", "netns", "add", host.name)
        run("ip", "link", "add", _cable(host), "type", "veth", "peer", "name", "eth0", "netns", host.name)
        run("ip", "link", "set", _cable(host), "master", BRIDGE, "up")
        run("ip", "-n", host.name, "address", "add", f"{host.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", host.name, "link", "set", device, "up")


def remove_hosts() -> None:
    """Whatever runs on the hosts, the hosts, and their data. Again, it removes what was left."""
    for host in HOSTS:
        for _ in range(3):
            for pid, _part in _processes(host):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        lift_delay(host)
        give_disk_back(host)
        lift_cpu_limit(host)
        run("ip", "netns", "del", host.name, quiet=True)
        run("ip", "link", "del", _cable(host), quiet=True)
    run("ip", "link", "del", BRIDGE, quiet=True)
    shutil.rmtree(STATE, ignore_errors=True)


def there_is_one() -> bool:
    return Path("/run/netns", LOAD.name).exists()


def _cable(host: Host) -> str:
    return f"mp-{host.name}"


def cut_off(host: Host) -> None:
    """Whatever it sends is lost, and whatever is sent to it; it does not know."""
    run("ip", "link", "set", _cable(host), "nomaster")


def connect(host: Host) -> None:
    run("ip", "link", "set", _cable(host), "master", BRIDGE)


def delay(host: Host, seconds: float) -> None:
    """Every packet of it and for it takes so much longer."""
    cut_off(host)
    near, far = f"mpn-{host.name}", f"mpf-{host.name}"
    run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
    run("ip", "link", "set", far, "master", BRIDGE, "up")
    run("ip", "link", "set", near, "up")
    command = [sys.executable, str(ROOT / "cluster" / "relay.py"), _cable(host), near, str(seconds)]
    relay = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    _pid_of_relay(host).write_text(str(relay.pid))


def lift_delay(host: Host) -> None:
    near = f"mpn-{host.name}"
    if Path("/sys/class/net", near).exists():
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(int(_pid_of_relay(host).read_text()), signal.SIGKILL)
        run("ip", "link", "del", near, quiet=True)
        connect(host)


def _pid_of_relay(host: Host) -> Path:
    return host.folder / "relay.pid"


_CONTROL = Path("/sys/fs/cgroup")
_IS_FIRST = (_CONTROL / "blkio").exists()  # the first version of control groups, a tree for each controller
_WEIGHT = ("cpu.shares", "10240") if _IS_FIRST else ("cpu.weight", "1000")


def slow_disk(part: Part, writes_a_second: int) -> None:
    """What the processes of a part write reaches the disk so slowly; those that begin after it start in their group."""
    if _IS_FIRST:
        _limit(part, "blkio", "blkio.throttle.write_iops_device", f"{_disk()} {writes_a_second}")
    else:
        _limit(part, "io", "io.max", f"{_disk()} wiops={writes_a_second}")


def give_disk_back(host: Host) -> None:
    """The end of it; nothing where it was not slow."""
    _lift(host, "blkio" if _IS_FIRST else "io")


def limit_cpu(part: Part, share: float) -> None:
    """The processes of a part together have so much of one processor, whatever else the machine does."""
    favour_cpu(part)
    quota = str(int(share * 100_000))
    if _IS_FIRST:
        _limit(part, "cpu", "cpu.cfs_quota_us", quota)
    else:
        _limit(part, "cpu", "cpu.max", f"{quota} 100000")


def favour_cpu(part: Part) -> None:
    """The processes of a part wait for a processor behind nobody else's."""
    _limit(part, "cpu", *_WEIGHT)


def lift_cpu_limit(host: Host) -> None:
    _lift(host, "cpu")


def _limit(part: Part, controller: str, file: str, text: str) -> None:
    group = _group_of(part.host, controller)
    if not _IS_FIRST:
        (_CONTROL / "cgroup.subtree_control").write_text(f"+{controller}")
    group.mkdir(exist_ok=True)
    (group / file).write_text(text)
    _move(part.pids(), group)


def _lift(host: Host, controller: str) -> None:
    group = _group_of(host, controller)
    if group.exists():
        until(lambda: _is_removed(group), 30, f"the end of {group}")


def _is_removed(group: Path) -> bool:
    _move([int(pid) for pid in (group / "cgroup.procs").read_text().split()], group.parent)
    try:
        group.rmdir()
    except OSError:  # one has just begun there
        return False
    return True


def _move(pids: list[int], group: Path) -> None:
    for pid in pids:
        with suppress(OSError):
            (group / "cgroup.procs").write_text(str(pid))


def _group_of(host: Host, controller: str) -> Path:
    name = f"memplatform-{host.name}"
    return _CONTROL / controller / name if _IS_FIRST else _CONTROL / f"{name}-{controller}"


def _disk() -> str:
    """The number of the disk the data is on; a partition is none."""
    device = os.stat(STATE).st_dev
    block = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    return ((block.parent if (block / "partition").exists() else block) / "dev").read_text().strip()
