"""Image, compose files and chart: what their own linters say, and that they name what there is."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.http.request import validate_host

from memplatform.processes.children import programs
from tests import ROOT
from tests.test_docs import variables_in_code

DEPLOY = ROOT / "deploy"
DOCKERFILES = sorted((DEPLOY / "container").glob("*Dockerfile"))
COMPOSE = [DEPLOY / "compose" / "single.yaml", DEPLOY / "compose" / "many.yaml"]
MANIFESTS = DEPLOY / "kubernetes" / "memplatform.yaml"
PARTS = set(programs("127.0.0.1", 1, 2))
#: Of the image, and of other programs in the same files.
FOREIGN = re.compile(r"(ETCD|PATRONI|POD_IP|POSTGRES|DATABASE_PASSWORD|POOLER|REPLICATION|PATH|PYTHON)")
SETTINGS = {*variables_in_code(), "MEMPLATFORM_ONLY", "MEMPLATFORM_API_URL"}


def services(file: Path) -> dict[str, Any]:
    parsed: dict[str, Any] = yaml.safe_load(file.read_text())["services"]
    return parsed


def manifests() -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(MANIFESTS.read_text()) if document]


def pods() -> list[dict[str, Any]]:
    return [document["spec"]["template"]["spec"] for document in manifests() if "template" in document.get("spec", {})]


def environment_of(container: dict[str, Any]) -> dict[str, str]:
    """What a container is told in words."""
    return {variable["name"]: variable["value"] for variable in container["env"] if "value" in variable}


def unknown(names: Iterator[str] | list[str]) -> list[str]:
    return [name for name in names if name not in SETTINGS and not FOREIGN.match(name)]


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_a_dockerfile_has_no_fault_and_copies_what_there_is(file: Path) -> None:
    program = Path(sys.executable).with_name("hadolint")
    outcome = subprocess.run([program, "--failure-threshold", "warning", str(file)], capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout
    text = file.read_text()
    copied = re.findall(r"^COPY (?:--chmod=\d+ )?(deploy/\S+)", text, re.MULTILINE)
    assert [place for place in copied if not (ROOT / place).exists()] == []
    last = text.rpartition("\nFROM ")[2]
    assert re.search(r"^USER (?!root|0)", last, re.MULTILINE), "it runs as root"
    assert "\nHEALTHCHECK " in last


def test_the_image_is_told_nothing_but_settings_there_are() -> None:
    text = (DEPLOY / "container" / "Dockerfile").read_text()
    named = re.findall(r"^(?:ENV | {4})([A-Z_]+)=", text, re.MULTILINE)
    assert "MEMPLATFORM_DATA" in named and unknown(named) == []


def test_what_the_image_is_built_from_is_sent_to_docker_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text().split()
    assert lines[0] == "*"
    let_through = {line[1:] for line in lines if line.startswith("!")}
    assert [place for place in let_through if not (ROOT / place).exists()] == []
    project = (ROOT / "pyproject.toml").read_text()
    packages = re.search(r"^packages = \[(.+)\]$", project, re.MULTILINE)
    assert packages and set(re.findall(r'"(\w+)"', packages.group(1))) <= let_through


@pytest.mark.thorough
@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_a_compose_file_is_valid_and_starts_what_there_is(file: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    outcome = subprocess.run(command, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout
    for name, service in services(file).items():
        assert unknown(list(service.get("environment", {}))) == [], name
        places = [volume.split(":")[0] for volume in service.get("volumes", []) if volume.startswith(".")]
        assert [place for place in places if not (file.parent / place).exists()] == []
        if "build" in service:
            assert (file.parent / service["build"]["context"] / service["build"]["dockerfile"]).exists()
        words = service.get("command", [])
        if words[:1] == ["up"]:
            assert set(words[2].split(",")) <= PARTS and words[1] == "--only"


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_a_compose_file_holds_no_password_and_the_example_names_them_all(file: Path) -> None:
    example = (DEPLOY / "compose" / "example.env").read_text()
    needed = set(re.findall(r"\$\{([A-Z_]+)", file.read_text()))
    assert needed <= set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE))
    for service in services(file).values():
        secret = [name for name in service.get("environment", {}) if re.search("PASSWORD|SECRET|KEY", name)]
        assert all(str(service["environment"][name]).startswith("${") for name in secret)


@pytest.mark.parametrize("file", COMPOSE, ids=lambda file: file.name)
def test_a_volume_of_our_image_is_a_folder_the_image_has_made_for_its_user(file: Path) -> None:
    """A new volume gets the owner of the folder it is put over; where the image has none it is root's."""
    text = (DEPLOY / "container" / "Dockerfile").read_text()
    (user,) = re.findall(r"^USER (\d+):\1$", text, re.MULTILINE)
    made = set(re.findall(rf"useradd --uid {user} .*--home-dir (\S+) --create-home", text))
    made |= set(re.findall(rf"install -d -o {user} -g {user} -m 0700 (\S+)", text))
    ours = [service for service in services(file).values() if service["image"].startswith("memplatform:")]
    places = {volume.split(":")[1] for service in ours for volume in service["volumes"]}
    assert "/var/lib/memplatform" in places and places - made == set()


def test_the_proxy_and_the_pooler_lead_to_hosts_of_the_compose_file() -> None:
    names = set(services(DEPLOY / "compose" / "many.yaml"))
    proxy = (DEPLOY / "compose" / "haproxy.cfg").read_text()
    led_to = set(re.findall(r"^ +server \w+ (\w+):", proxy, re.MULTILINE))
    assert led_to == {name for name in names if re.match(r"web|postgres", name)}
    pooler = (DEPLOY / "compose" / "pgbouncer.ini").read_text()
    assert set(re.findall(r"host=(\w+)", pooler)) <= names
    assert "pool_mode = session" in pooler  # docs/howto/use-your-own-postgresql.md says why


def test_the_poolers_are_told_when_a_server_changes_its_role(tmp_path: Path) -> None:
    """By a script that the image has, in the name of whom the console lets in, at the hosts of the compose file."""
    compose = DEPLOY / "compose"
    script = (compose / "reconnect.sh").read_text()
    patroni = yaml.safe_load((compose / "patroni.yaml").read_text())["postgresql"]["callbacks"]
    assert patroni == dict.fromkeys(("on_start", "on_restart", "on_role_change"), "/usr/local/bin/reconnect.sh")
    image = (DEPLOY / "container" / "postgres.Dockerfile").read_text()
    assert re.search(r"COPY --chmod=0755 .*deploy/compose/reconnect\.sh /usr/local/bin/", image)
    pooler = (compose / "pgbouncer.ini").read_text()
    for name, setting in {"PGUSER": "admin_users", "PGPORT": "listen_port"}.items():
        (default,) = re.findall(rf'{name}="\$\{{{name}:-(\w+)\}}"', script)
        assert f"{setting} = {default}\n" in pooler
    assert '"pooler"' in (compose / "pgbouncer.sh").read_text()  # its password is in the file of users
    hosts = services(compose / "many.yaml")
    (poolers,) = re.findall(r"\$\{POOLERS:-([\w ]+)\}", script)
    assert set(poolers.split()) == {name for name in hosts if name.startswith("pgbouncer")}
    for name in hosts:
        if name.startswith("postgres"):
            assert "POOLER_PASSWORD" in hosts[name]["environment"]
    # as it is called, with a psql that writes down what it is asked, and one pooler that is away
    psql = tmp_path / "psql"
    psql.write_text('#!/bin/sh\necho "$PGUSER $PGPORT $PGPASSWORD $*" >> "$ASKED"\n[ "$3" != pgbouncer1 ]\n')
    psql.chmod(0o755)
    (tmp_path / "sleep").write_text("#!/bin/sh\n")
    (tmp_path / "sleep").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ASKED": str(tmp_path / "asked"), "POOLER_PASSWORD": "p555555"}
    words = ["sh", str(compose / "reconnect.sh"), "on_role_change", "primary", "memplatform"]
    subprocess.run(words, env=environment, check=True)
    asked = (tmp_path / "asked").read_text().splitlines()
    one = "pooler 6432 p555555 -qX -h {} -d pgbouncer -c RECONNECT"
    assert asked == [one.format(name) for name in ("pgbouncer1", "pgbouncer2")] * 2


@pytest.mark.parametrize("version", ["1.29", "1.34"])
def test_the_manifests_are_what_kubernetes_takes(version: str) -> None:
    documents = manifests()
    assert {document["kind"] for document in documents} >= {"StatefulSet", "Deployment", "Service", "NetworkPolicy"}
    for document in documents:
        kubernetes_validate.validate(document, version, strict=True)


def test_the_manifests_are_of_the_chart_as_it_is() -> None:
    spec = importlib.util.spec_from_file_location("render", DEPLOY / "helm" / "render.py")
    assert spec and spec.loader
    render = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(render)
    assert f"# Chart: {render.digest()}\n" in MANIFESTS.read_text(), "python deploy/helm/render.py"


def test_no_pod_has_rights_it_does_not_need_and_each_runs_a_part_there_is() -> None:
    assert {pod["containers"][0]["args"][2] for pod in pods()} == PARTS - {"mcp"}
    for pod in pods():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert "limits" in container["resources"]
        assert unknown([variable["name"] for variable in container["env"]]) == []
        assert not any(
            variable["name"] in ("DATABASE_URL", "SECRET_KEY") and "value" in variable for variable in container["env"]
        )


def test_all_pods_that_open_files_share_one_folder() -> None:
    """Each other host is refused by the first that started (memplatform.operations.hosts)."""
    documents = manifests()
    claims = {document["metadata"]["name"]: document["spec"] for document in documents if "Claim" in document["kind"]}
    for pod in pods():
        (container,) = pod["containers"]
        assert environment_of(container)["MEMORY_FILES_ROOT"] == "/srv/memory"
        (mount,) = [mount["name"] for mount in container["volumeMounts"] if mount["mountPath"] == "/srv/memory"]
        (volume,) = [volume for volume in pod["volumes"] if volume["name"] == mount]
        assert claims[volume["persistentVolumeClaim"]["claimName"]]["accessModes"] == ["ReadWriteMany"]
    values = yaml.safe_load((DEPLOY / "helm" / "memplatform" / "values.yaml").read_text())
    assert values["files"]["enabled"]
    for language in ("", ".zh-hans"):
        guide = (ROOT / "docs" / "howto" / f"containers{language}.md").read_text()
        assert "| `files.enabled` | `true` |" in guide


def test_every_pod_is_told_of_the_replicas() -> None:
    """Who writes leaves a note for the webs that read there, and leaves none where it knows of no replica."""
    template = (DEPLOY / "helm" / "memplatform" / "templates" / "_pod.tpl").read_text()
    conditions = re.findall(r"\{\{- (if .+?) \}\}\n +- name: DATABASE_REPLICA_URL\n", template)
    assert conditions == ["if $values.databaseReplicas"]
    compose = yaml.safe_load((DEPLOY / "compose" / "many.yaml").read_text())["services"]
    parts = [service for service in compose.values() if "SECRET_KEY" in service.get("environment", {})]
    assert len(parts) > 3
    assert all("DATABASE_REPLICA_URL" in service["environment"] for service in parts)


def test_a_pod_may_be_called_by_its_address_and_by_every_name_of_its_service() -> None:
    """Prometheus calls pods by their addresses, bots in other namespaces the service by a longer name."""
    (web,) = (pod["containers"][0] for pod in pods() if pod["containers"][0]["name"] == "web")
    names = [variable["name"] for variable in web["env"]]
    assert names.index("POD_IP") < names.index("ALLOWED_HOSTS")  # of a later one nothing is put in
    assert {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}} in web["env"]
    rests = ("", ".memplatform", ".memplatform.svc", ".memplatform.svc.cluster.local")
    services = [f"memplatform-{part}{rest}" for part in ("web", "mcp") for rest in rests]
    assert "memplatform-web" in [document["metadata"]["name"] for document in manifests()]
    for address in ("10.1.2.3", "fd00::1"):
        hosts = environment_of(web)["ALLOWED_HOSTS"].replace("$(POD_IP)", address).split(",")
        called_by = f"[{address}]" if ":" in address else address
        assert [name for name in (called_by, *services) if not validate_host(name, hosts)] == []
        assert not validate_host("memory.example.org", hosts)


def test_the_job_of_the_scrape_is_the_one_that_alerts_ask_for() -> None:
    template = (DEPLOY / "helm" / "memplatform" / "templates" / "network.yaml").read_text()
    monitor = template.partition("kind: ServiceMonitor")[2]
    (label,) = re.findall(r"^  jobLabel: (\S+)", monitor, re.MULTILINE)
    (service,) = (document for document in manifests() if document["kind"] == "Service")
    job = service["metadata"]["labels"][label]
    assert f'up{{job="{job}"}}' in (DEPLOY / "observability" / "alerts.yaml").read_text()


def test_chart_and_package_have_one_version() -> None:
    chart = yaml.safe_load((DEPLOY / "helm" / "memplatform" / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version and chart["appVersion"] == chart["version"] == version.group(1)
    assert f"memplatform:{version.group(1)}" in COMPOSE[0].read_text()
