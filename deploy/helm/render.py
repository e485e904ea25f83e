"""Lint the chart and write deploy/kubernetes/memplatform.yaml, for who has no Helm: `pip install helm-python-sdk`.

That package is Helm 4 as a library. With a `helm` of your own: `helm lint`, `helm template memplatform
deploy/helm/memplatform --namespace memplatform`. The second line of what is written tells of which chart it is.
"""

import hashlib
import sys
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHART = HERE / "memplatform"
TARGET = HERE.parent / "kubernetes" / "memplatform.yaml"
#: Refused: its pods would have a folder of memory each.
APART = {"files": {"enabled": False}}
#: Everything switched on: it is linted and rendered, and not written.
ALL = {
    "databaseReplicas": "postgresql://replicas:5432/memplatform",
    "ingress": {"enabled": True, "className": "nginx", "tlsSecret": "memory"},
    "monitoring": {"enabled": True},
    "parts": {"mcp": {"replicas": 1}},
    "publicUrl": "https://memory.example.org",
}


def digest() -> str:
    """Of all files of the chart, by which a rendering that is old is noticed."""
    whole = hashlib.sha256()
    for file in sorted(file for file in CHART.rglob("*") if file.is_file()):
        whole.update(f"{file.relative_to(CHART)}\n".encode() + file.read_bytes())
    return whole.hexdigest()


def main() -> None:
    from helm_python import HelmRenderError  # only here: tests read the digest without it
    from helm_python.chart import Chart, lint

    for values in ({}, ALL):
        report = lint(CHART, values, strict=True)
        worse = [message for message in report["messages"] if message["severity"] > 1]  # 1: a remark
        if report["errors"] or worse:
            sys.exit(f"The chart has faults: {report['errors']} {worse}")
    with Chart.load(CHART) as chart:
        chart.render(ALL, name="memplatform", namespace="memplatform")
        parts = chart.render({}, name="memplatform", namespace="memplatform")
        with suppress(HelmRenderError):
            chart.render(APART, name="memplatform", namespace="memplatform")
            sys.exit(f"The chart renders {APART}")
    documents = [
        document.strip()
        for name, text in sorted(parts.items())
        if name.endswith(".yaml")
        for document in text.split("\n---")
        if document.strip()
    ]
    head = (
        f"# Rendered from deploy/helm/memplatform with its defaults, by deploy/helm/render.py.\n# Chart: {digest()}\n"
    )
    TARGET.write_text(head + "".join(f"---\n{document}\n" for document in documents))


if __name__ == "__main__":
    main()
