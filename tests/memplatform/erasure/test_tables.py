"""What is derived from the models is what was listed by hand."""

from memories.models import Entry
from memories.models.table import tables
from memplatform.transfer.records import _NEWER, ACCESS, CHANGE, CONSENT, EVIDENCE, IDENTITY, KINDS, SLOT, SUCCESSOR


def test_the_exports_are_those_that_were_listed() -> None:
    listed = {name: kind for name, kind in KINDS.items() if name != SUCCESSOR}
    listed |= {"identity": IDENTITY, "consent": CONSENT, "slot": SLOT, "evidence": EVIDENCE, "change": CHANGE}
    listed |= {"access": ACCESS}
    exports = {table.export.name: (model, table.export) for model, table in tables() if table.export}
    assert exports.keys() == listed.keys()
    later = {}
    for name, (model, export) in exports.items():
        columns = {column.name for column in model._meta.concrete_fields if not column.is_relation}
        assert (name, columns - {"id", *export.leaves_out}) == (name, set(listed[name].columns))
        assert (model, dict(export.refers)) == (listed[name].model, dict(listed[name].references))
        later |= export.later
    assert later == _NEWER
    assert Entry.table.export
