"""Lines of files that say what people took out of use: they are not told from their files either (A15)."""

from channels_app.tools.place import Place
from memories.entries.daily_events import SuppressedContent
from memories.exceptions import FileUnreadable
from memories.files import markdown
from memories.files.layout import ScopeFolder
from memories.models import Scope, Suppression


def without_suppressed(place: Place, folder: ScopeFolder, text: str) -> str:
    """The text of a file with such lines emptied; what is left keeps its lines."""
    scope = Scope.objects.in_workspace(place.caller.workspace_id).filter(key=folder.scope_key).first()
    if scope is None or not Suppression.objects.filter(scope=scope).exists():
        return text
    try:
        said = markdown.blocks(text)
    except FileUnreadable:
        return text
    taken_out = SuppressedContent([scope], told=True)
    lines = text.split("\n")
    for block in said:
        if taken_out.covers(scope, block.text, ()):
            lines[block.line_from - 1 : block.line_to] = [""] * (block.line_to - block.line_from + 1)
    return "\n".join(lines)
