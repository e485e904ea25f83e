"""The cluster watches its parts as the files we ship do: what was measured there holds for them."""

import re

from cluster import database, product
from tests import ROOT

SHIPPED = (ROOT / "deploy" / "compose" / "haproxy.cfg").read_text()


def timing(config: str, section: str) -> dict[str, str]:
    """How long the servers of a section are waited for, how often they are asked, and when they are given up."""
    bodies = [re.split(r"\n(?=\w)", config.partition(f"{name}\n")[2])[0] for name in ("defaults", section)]
    said = [line.strip() for line in "\n".join(bodies).splitlines()]
    limits = {words[1]: words[2] for words in map(str.split, said) if words[:1] == ["timeout"]}
    (checked,) = {line for line in said if line.startswith("default-server inter")}
    return {"connect": limits["connect"], "check": limits["check"], "server": checked}


def test_the_cluster_watches_its_webs_as_the_shipped_proxy_does() -> None:
    assert [line.strip() for line in product.watched().splitlines()] == [
        "retries 2",
        "option redispatch",
        "timeout connect 1s",
        "timeout check 700ms",
        "option httpchk",
        "http-check send meth GET uri /livez ver HTTP/1.1 hdr Host localhost",
        "http-check expect status 200",
        "default-server inter 400ms fastinter 100ms fall 2 rise 1 on-marked-down shutdown-sessions",
    ]


def test_the_cluster_watches_its_databases_as_the_shipped_proxy_does() -> None:
    ours = timing(database._HAPROXY, "defaults")
    assert timing(SHIPPED, "listen primary") == timing(SHIPPED, "listen replicas") == ours


def test_a_web_is_led_to_while_the_database_is_away() -> None:
    """`/readyz` says 503 then, and would keep everybody from the replicas and the files."""
    assert "/readyz" not in "\n".join(line for line in SHIPPED.splitlines() if "#" not in line)
    for manifest in ("kubernetes/memplatform.yaml", "helm/memplatform/templates/_pod.tpl"):
        probes = re.findall(r"(\w+)Probe:\s+httpGet: \{path: (/\w+)", (ROOT / "deploy" / manifest).read_text())
        assert dict(probes) == {"startup": "/readyz", "readiness": "/livez", "liveness": "/livez"}, manifest
