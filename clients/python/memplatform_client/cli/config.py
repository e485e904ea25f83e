"""Which platform is asked: flags win over the environment, the environment over the file `memplatform login` writes."""

from __future__ import annotations

import json
import os
import stat
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from memplatform_client.cli.terminal import Problem, WrongKey, _
from memplatform_client.client import LOCAL


@dataclass(frozen=True)
class Target:
    """A platform, the key for it, and the scope that is meant where none is named."""

    url: str = ""
    key: str = ""
    scope: str = ""

    def over(self, other: Target) -> Target:
        """What is named here, else what is named there."""
        return Target(self.url or other.url, self.key or other.key, self.scope or other.scope)


def target_of(flags: Target) -> Target:
    """The platform that is meant. Raises Problem where no key is named."""
    environment = Target(*(os.environ.get(f"MEMORY_{name}", "") for name in ("URL", "KEY", "SCOPE")))
    named = flags.over(environment)
    login = Target() if named.url and named.key else read()
    if named.url and named.url.rstrip("/") != login.url.rstrip("/"):
        login = Target()  # its key is sent to the platform it was saved for, and no other
    target = named.over(login)
    if not target.key:
        problem = _("No key is named for %(url)s. Run `memplatform login`, set MEMORY_KEY, or give --key.")
        raise WrongKey(problem % {"url": target.url or LOCAL})
    return target.over(Target(url=LOCAL))


def file() -> Path:
    """Where `memplatform login` writes."""
    if sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return folder / "memplatform" / "config.json"


def read() -> Target:
    """What the file names. Raises Problem where others can read it, or nobody can."""
    path = file()
    try:
        with path.open(encoding="utf-8") as opened:
            if os.name == "posix" and stat.S_IMODE(os.fstat(opened.fileno()).st_mode) & 0o077:
                problem = _("Others can read the key in %(path)s. Run: chmod 600 %(path)s")
                raise WrongKey(problem % {"path": path})
            values = json.load(opened)
        return Target(*(str(values.get(name) or "") for name in ("url", "key", "scope")))
    except FileNotFoundError:
        return Target()
    except (OSError, ValueError, AttributeError) as error:
        problem = _("%(path)s cannot be read (%(why)s). Run `memplatform login` to write it anew.")
        raise Problem(problem % {"path": path, "why": error}) from error


def write(target: Target) -> Path:
    """Keep it, so that only its owner can read it."""
    path = file()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as opened:
        json.dump(asdict(target), opened, indent=2)
        opened.write("\n")
    new.replace(path)
    return path
