"""The figures of an evaluation, for people."""

from collections.abc import Mapping
from typing import Any

_NAME, _NUMBER = 30, 16


def told(report: Mapping[str, Any]) -> str:
    """Recall by category, groups, verdicts and times, as a table."""
    parts = [f"{report['dataset']}: {report['questions']} questions", *_unasked(report), "", *_recall(report), ""]
    groups = {"mean of categories": report["group_of_categories"], "mean": report["group"]}
    parts += [heading(report["group"]), *(step(name, row) for name, row in groups.items() if row), ""]
    parts += _precision(report)
    parts += [f"{'latency ' + name:32}{value:14.1f} ms" for name, value in report["latency_ms"].items()]
    return "\n".join([*parts, "", *_verdicts(report["evidence"])]).rstrip()


def step(name: str, means: Mapping[str, float]) -> str:
    """A line of an ablation."""
    return f"{name:{_NAME}}" + "".join(f"{value:{_NUMBER}.4f}" for value in means.values())


def heading(measures: Mapping[str, float]) -> str:
    return f"{'':{_NAME}}" + "".join(f"{name:>{_NUMBER}}" for name in measures)


def _precision(report: Mapping[str, Any]) -> list[str]:
    """What is known only of questions people judged."""
    precision = report.get("precision", {})
    lines = [heading(next(iter(precision.values()))), *(step(*row) for row in precision.items())] if precision else []
    notes = (("unjudged", "questions nobody judged"), ("gone", "memories judged to help that are gone"))
    return [*lines, *(f"{report[name]} {said}" for name, said in notes if report.get(name))]


def _unasked(report: Mapping[str, Any]) -> list[str]:
    unasked = report["unasked"]
    if not unasked["questions"]:
        return []
    return [f"{unasked['questions']} questions not asked, for there is no text of: {', '.join(unasked['scopes'])}"]


def _recall(report: Mapping[str, Any]) -> list[str]:
    rows = {**report["categories"], "mean of categories": report["mean_of_categories"], "mean": report["mean"]}
    return [heading(report["mean"]), *(step(name, row) for name, row in rows.items())]


def _verdicts(evidence: Mapping[str, Any]) -> list[str]:
    """What was called found, weak or none, and what that is worth."""
    rows = {f"answerable: {name}": shares for name, shares in evidence["categories"].items()}
    rows |= {name: evidence[name] for name in ("answerable", "unanswerable") if evidence[name]}
    lines = [heading(dict.fromkeys(("found", "weak", "none"), 0.0))] if rows else []
    for name, shares in rows.items():
        lines.append(step(name, {verdict: shares.get(verdict, 0.0) for verdict in ("found", "weak", "none")}))
    if separation := dict(evidence["separation"]):
        lines += ["", f"{'area under the curve':{_NAME}}{separation.pop('auc'):{_NUMBER}.4f}"]
        lines.append(heading(separation["none"]))
        lines += [step(f"{claim.replace('_', ' ')}: no answer", values) for claim, values in separation.items()]
    return lines
