"""A table that says it is exported is written by an export, and brought in again."""

from memories.models import Scope, Workspace
from memplatform.transfer import importing
from memplatform.transfer.export import sections
from memplatform.transfer.records import _HANGING, KINDS, PARTS


def test_every_kind_of_record_is_written_and_brought_in() -> None:
    workspace = Workspace(pk=1)
    written = [section.kind for section in sections(workspace, None, history=True)]
    assert sorted(written) == sorted(KINDS) == sorted(importing._BRING)
    of_scope = [section.kind for section in sections(workspace, Scope(pk=1, workspace=workspace), history=True)]
    assert set(of_scope) == set(written) - {"workspace", "policy", "channel", "person"}


def test_every_record_that_hangs_on_another_has_its_place_in_that() -> None:
    parts = [kind.model._meta.model_name for of_kind in PARTS.values() for kind in of_kind.values()]
    assert len(parts) == len(set(parts)) == len(_HANGING) - 1  # how often a memory was served is one row of it
