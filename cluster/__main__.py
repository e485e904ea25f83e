"""`python -m cluster WORD`: what `make cluster` calls."""

import argparse
import sys
import time
from pathlib import Path

from cluster import database, faults, hosts, needs, product, throughput, trial, upgrade
from cluster.checker import Kind, Report, check
from cluster.history import calls_of, stored_of


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    words = parser.add_subparsers(dest="word")
    begin = words.add_parser("up", help="build the cluster and leave it running (without a word, too)")
    for each in (parser, begin):
        each.add_argument("--synchronous", choices=["quorum", "on", "off"], default="quorum", help="Patroni's mode")
        each.add_argument("--pool", choices=["session", "transaction"], default="session", help="PgBouncer's mode")
        each.add_argument("--replicas", action="store_true", help="recalls are read from replicas")
        each.add_argument("--lease", type=int, default=9, help="seconds a primary that is gone is waited for")
    words.add_parser("down", help="end everything, and remove the hosts and their data")
    words.add_parser("status", help="what runs, and who is the primary")
    trials = words.add_parser("test", help="try faults under load, and judge what clients saw")
    trials.add_argument("--faults", type=int, default=30)
    trials.add_argument("--seed", type=int, default=1)
    trials.add_argument("--minutes", type=float, default=120, help="no round begins after so many")
    trials.add_argument("--pause", type=float, default=0.25, help="seconds between two steps of a client, about")
    trials.add_argument("--out", type=Path, help="a folder for histories and report, gone on with where it is there")
    trials.add_argument("--only", action="append", default=[], help="a fault by name, such as 'kill primary'; again")
    trials.add_argument("--singles", action="store_true", help="never two faults at once")
    load = words.add_parser("load", help="(on the load host) clients of one round")
    load.add_argument("first", type=int)
    load.add_argument("folder", type=Path)
    load.add_argument("--seconds", type=float, default=trial.LOAD_SECONDS)
    load.add_argument("--pause", type=float, default=0.25)
    newer = words.add_parser("upgrade", help="go to the next version under load, host after host")
    newer.add_argument("--from", dest="before", help="a commit of before, of which a new cluster is built")
    newer.add_argument("--to", help="a commit; without it this checkout, with one more migration where it runs already")
    newer.add_argument("--pause", type=float, default=0.25)
    newer.add_argument("--out", type=Path, help="a new folder for history and report")
    fast = words.add_parser("throughput", help="turns and recalls a second by the number of webs and of replicas")
    fast.add_argument("--web-share", type=float, default=0.2, help="of a processor, for each web")
    fast.add_argument("--server-share", type=float, default=0.15, help="of a processor, for each PostgreSQL")
    fast.add_argument("--rounds", type=int, default=5, help="of each number; the median is taken")
    fast.add_argument("--out", type=Path, help="a new folder for the report")
    rate = words.add_parser("ask", help="(on the load host) calls a second")
    rate.add_argument("call", choices=throughput.CALLS)
    rate.add_argument("addresses")
    rate.add_argument("seconds", type=float)
    verdict = words.add_parser("check", help="judge a history by what was stored at the end")
    verdict.add_argument("history", type=Path)
    verdict.add_argument("stored", type=Path)
    options = parser.parse_args(arguments)
    try:
        return WORDS[options.word or "up"](options)
    except (needs.Missing, RuntimeError, TimeoutError) as problem:
        print(problem, file=sys.stderr)
        return 1


def up(options: argparse.Namespace) -> int:
    needs.ensure()
    if hosts.there_is_one():
        print("There is a cluster already; `make cluster ARGS=down` removes it.", file=sys.stderr)
        return 1
    began = time.monotonic()
    hosts.remove_hosts()  # what an earlier one left
    try:
        hosts.make_hosts()
        database.start(database.Modes(options.synchronous, options.pool, options.replicas, options.lease))
        print(f"Three database hosts after {time.monotonic() - began:.0f} s.", flush=True)
        if first := getattr(options, "before", None):
            upgrade.unpack(first, upgrade.FIRST)
        product.start(upgrade.FIRST if first else hosts.ROOT)
    except BaseException:
        for path in product.logs():
            print(f"== {path}", *path.read_text(errors="replace").splitlines()[-3:], sep="\n", file=sys.stderr)
        raise
    print(
        f"Nine hosts after {time.monotonic() - began:.0f} s. The API: http://{hosts.WEBS[0].address}:{product.FRONT}/api/v1/"
    )
    print(f"Keys: {hosts.STATE / 'keys.json'}. `make cluster-test` tries faults, `make cluster ARGS=down` removes all.")
    return 0


def down(options: argparse.Namespace) -> int:
    hosts.remove_hosts()
    return 0


def status(options: argparse.Namespace) -> int:
    if not hosts.there_is_one():
        print("There is no cluster.")
        return 1
    for part in faults.all_parts():
        print(f"{part.id:20}{len(part.pids()):3} processes")
    print(database.members(), {web.name: product.is_ready(web) for web in hosts.WEBS})
    return 0


def test(options: argparse.Namespace) -> int:
    """1 when anything was found; builds the cluster where there is none, and leaves it."""
    if not hosts.there_is_one() and up(options):
        return 1
    folder = options.out or _new_folder()
    plan = trial.Plan(
        options.faults, options.seed, options.minutes, options.pause, tuple(options.only), options.singles
    )
    rounds = trial.run(folder, plan)
    report = trial.judge_all(folder)
    print((folder / "report.md").read_text())
    print(summary(report), f"Histories and report: {folder}", sep="\n")
    return 0 if report.is_clean and not any(one.findings for one in rounds) else 1


def load(options: argparse.Namespace) -> int:
    trial.run_load(options.first, options.folder, options.seconds, options.pause)
    return 0


def upgraded(options: argparse.Namespace) -> int:
    """1 when anything was found, or a write waited longer than a host takes to start anew."""
    if (options.before or not hosts.there_is_one()) and up(options):
        return 1
    folder = options.out or _new_folder()
    result = upgrade.run(folder, options.before, options.to, options.pause)
    print((folder / "report.md").read_text(), *result.says, f"History and report: {folder}", sep="\n")
    return 0 if result.is_well else 1


def measure(options: argparse.Namespace) -> int:
    if not hosts.there_is_one() and up(argparse.Namespace(**{**vars(options), "replicas": True})):
        return 1
    folder = options.out or _new_folder()
    throughput.run(folder, options.web_share, options.server_share, options.rounds)
    print((folder / "report.md").read_text(), f"Report: {folder}", sep="\n")
    return 0


def _new_folder() -> Path:
    return hosts.ROOT / ".cluster" / time.strftime("%Y%m%d-%H%M%S")


def ask(options: argparse.Namespace) -> int:
    print(*throughput.ask(options.call, options.addresses.split(","), options.seconds))
    return 0


def judge(options: argparse.Namespace) -> int:
    report = check(calls_of(options.history), stored_of(options.stored))
    print(summary(report))
    return 0 if report.is_clean else 1


def summary(report: Report, most: int = 20) -> str:
    """Counts of a report, and its first findings, a line each."""
    lines = [f"{what}: {dict(count)}" for what, count in report.counts.items() if count.total()]
    lines += [f"{kind}: {report.by_kind()[kind]}" for kind in Kind]
    lines += [f"  {finding.kind}: {finding.says}" for finding in report.findings[:most]]
    if (rest := len(report.findings) - most) > 0:
        lines.append(f"  and {rest} more")
    return "\n".join(lines)


WORDS = {
    "up": up,
    "down": down,
    "status": status,
    "test": test,
    "upgrade": upgraded,
    "throughput": measure,
    "load": load,
    "ask": ask,
    "check": judge,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
