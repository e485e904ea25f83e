"""The platform speaks English and Simplified Chinese, completely."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import django_q
import polib
import pytest
import unfold
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from django.utils.translation.template import templatize

from memories import exceptions
from memplatform.apps import OURS as OURS_APPS
from memplatform.operations.jobs.registry import JOBS
from tests import ROOT
from tests.memories.admin.conftest import House

CATALOG = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
OURS = [ROOT / name for name in ("memories", "sessions_app", "channels_app", "memplatform", "templates")]
#: Parts of unfold that are not installed.
NOT_USED = {"constance", "guardian", "import_export", "location_field", "simple_history", "forms"}
CALLS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}


def messages_in(folder: Path) -> Iterator[str]:
    """Everything under a folder that is marked to be translated."""
    for path in folder.rglob("*.py"):
        yield from _in_code(path.read_text())
    for path in folder.rglob("*.html"):
        yield from _in_code(_called(templatize(path.read_text(), origin=str(path))))


def _called(template: str) -> str:
    """Of a template made readable for gettext, the calls, one a line."""
    calls = re.findall(r"""(?:p|n|np)?gettext\((?:\s*u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),?)+""", template)
    return "\n".join(f"{call.rstrip(',')})" for call in calls)


def _in_code(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            texts = [text.value for text in node.args if isinstance(text, ast.Constant) and isinstance(text.value, str)]
            if name in CALLS and texts:
                yield texts[1] if name.startswith("pgettext") else texts[0]


def spoken() -> set[str]:
    """All messages of ours: marked ones, docstrings of errors, what the jobs do."""
    errors = [kind for kind in vars(exceptions).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    return (
        {text for folder in OURS for text in messages_in(folder)}
        | {str(error.__doc__).splitlines()[0] for error in errors}
        | {job.label for job in JOBS.values()}
        | {field.name.replace("_", " ") for model in admin.site._registry for field in unnamed(model)}
    )


def unnamed(model: Any) -> Iterator[Any]:
    """Fields called by what they point to (memplatform.apps)."""
    if model._meta.app_label in OURS_APPS:
        yield from (field for field in model._meta.concrete_fields if field._verbose_name is None)


def translated(path: Path) -> set[str]:
    if path.suffix == ".mo":
        return {entry.msgid for entry in polib.mofile(str(path))}
    return {entry.msgid for entry in polib.pofile(str(path)) if entry.translated() and "fuzzy" not in entry.flags}


@pytest.mark.thorough
def test_every_message_of_ours_is_translated() -> None:
    assert len(spoken()) > 400
    assert spoken() - translated(CATALOG) == set()


@pytest.mark.thorough
def test_what_the_admin_is_built_with_is_translated() -> None:
    """Unfold comes without translations, django-q2 with some."""
    catalogs = [*Path(django.__path__[0]).glob("**/locale/zh_Hans/LC_MESSAGES/django.mo")]
    catalogs += Path(django_q.__path__[0]).glob("locale/zh_Hans/LC_MESSAGES/django.mo")
    result = translated(CATALOG).union(*map(translated, catalogs))
    top = Path(unfold.__path__[0])
    parts = [part for part in [*top.iterdir(), *(top / "contrib").iterdir()] if part.name not in NOT_USED | {"contrib"}]
    shown = {text for part in parts if part.is_dir() for text in messages_in(part)}
    shown |= set(_in_code((Path(django_q.__path__[0]) / "models.py").read_text()))
    assert len(shown) > 50
    assert shown - result == set()


def test_no_translation_is_left_to_be_looked_over() -> None:
    catalog = polib.pofile(str(CATALOG))
    assert catalog.untranslated_entries() + catalog.fuzzy_entries() + catalog.obsolete_entries() == []


def test_what_is_compiled_is_what_is_written() -> None:
    """Nothing is compiled at run time, so the compiled file stands beside its source."""
    written = {(e.msgctxt, e.msgid): e.msgstr or e.msgstr_plural[0] for e in polib.pofile(str(CATALOG))}
    compiled = polib.mofile(str(CATALOG.with_suffix(".mo")))
    assert {(e.msgctxt, e.msgid): e.msgstr or e.msgstr_plural[0] for e in compiled} == written


def test_placeholders_survive_translation() -> None:
    holder = re.compile(r"%\(\w+\)(?:\.\d)?[sdgf]|\{\w*\}|%s")
    for entry in polib.pofile(str(CATALOG)):
        text = entry.msgstr or entry.msgstr_plural[0]
        assert sorted(holder.findall(entry.msgid)) == sorted(holder.findall(text)), entry.msgid


@pytest.mark.thorough
@pytest.mark.django_db
def test_pages_in_chinese_hold_no_english(owner: Client, mine: House) -> None:
    owner.cookies["django_language"] = "zh-hans"
    sentences = [text for text in spoken() if " " in text.strip() and "%" not in text and "{" not in text]
    addresses = [reverse("admin:index"), reverse("admin:memories_entry_expire", args=[mine.entry.pk])]
    for model in admin.site._registry:
        name = f"admin:{model._meta.label_lower.replace('.', '_')}"
        addresses.append(reverse(f"{name}_changelist"))
        addresses += [reverse(f"{name}_change", args=[row.pk]) for row in model._default_manager.all()[:1]]
    for address in addresses:
        shown = re.sub(r"<script.*?</script>|<!--.*?-->", "", owner.get(address).content.decode(), flags=re.DOTALL)
        visible = re.findall(r">([^<]+)<", shown)
        words = {" ".join(text.split()) for text in visible}
        assert words & set(sentences) == set(), address


@pytest.mark.thorough
@pytest.mark.django_db
def test_the_language_is_switched_on_any_page(alice: Client, mine: House) -> None:
    home = reverse("admin:index")
    assert "What needs attention" in alice.get(home).content.decode()
    assert alice.post("/admin/language/setlang/", {"language": "zh-hans", "next": home}).status_code == 302
    assert "需要处理" in alice.get(home).content.decode()


@pytest.mark.parametrize("other", ["收据", "回执", "落盘", "保险", "冲刷"])
def test_an_idea_has_one_word_in_chinese_in_the_admin_and_in_the_pages_to_read(other: str) -> None:
    """Recall trace 召回记录, flush 刷写, safety limit 熔断 (docs/glossary.md)."""
    pages = [CATALOG, *ROOT.glob("*.zh-hans.md"), *ROOT.glob("docs/**/*.zh-hans.md")]
    assert [page.name for page in pages if other in page.read_text()] == []
