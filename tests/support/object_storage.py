"""A real S3 server on this machine, for as long as a block lasts."""

import json
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.support.house import free_port, until

KEY, SECRET = "made-up-444444", "made-up-555555"
WEED = Path(sysconfig.get_path("scripts"), "weed")
_MADE = (
    "s3.bucket.create -name old\ns3.bucket.create -name versions\ns3.bucket.versioning -name versions -status Enabled\n"
)


@contextmanager
def object_storage() -> Iterator[dict[str, str]]:
    """What MEMPLATFORM_ARCHIVE_… are set to for the bucket `old`; `versions` is one that keeps former versions."""
    folder = Path(tempfile.mkdtemp(prefix="s3-"))
    rights = {"credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin", "Read", "Write", "List"]}
    rules = folder / "rules.json"
    rules.write_text(json.dumps({"identities": [{"name": "owner", **rights}]}))
    names = [f"{part}.port{kind}" for part in ("master", "volume", "filer", "s3") for kind in ("", ".grpc")]
    ports = dict(zip(names, (free_port() for _name in names), strict=True))
    command = [WEED, "server", f"-dir={folder}", "-s3", f"-s3.config={rules}"]
    command += ["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-master.volumeSizeLimitMB=16", "-volume.max=8"]
    command += ["-s3.port.iceberg=0", "-s3.port.lance=0", *(f"-{name}={port}" for name, port in ports.items())]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    try:
        until(lambda: _answers(endpoint), seconds=60)
        settings = {"ENDPOINT": endpoint, "KEY": KEY, "SECRET": SECRET, "REGION": "us-east-1", "PREFIX": "mem/"}
        masters = f"-master=127.0.0.1:{ports['master.port']}.{ports['master.port.grpc']}"
        filer = f"-filer=127.0.0.1:{ports['filer.port']}.{ports['filer.port.grpc']}"
        subprocess.run([WEED, "shell", masters, filer], input=_MADE, text=True, check=True, capture_output=True)
        yield settings | {"BUCKET": "old"}
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(endpoint: str) -> bool:
    try:
        return httpx.get(endpoint).status_code < 500
    except httpx.TransportError:
        return False
