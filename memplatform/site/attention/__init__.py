"""What needs the person who looks: the first part of the home page, one line a thing.

**To add a line**, write a function that takes a Viewer and yields an Item for each thing that needs somebody, or none:

    def lost_keys(viewer: Viewer) -> Iterator[Item]:
        if count := viewer.rows(LostKey.objects.all())[:MOST].count():
            yield Item("lost-keys", ngettext("%(n)d key is lost", "%(n)d keys are lost", count) % {"n": count})

and name it in LINES (memplatform.site.attention.lines). `viewer.rows` keeps to the workspaces this person may see; read
a bounded number of rows, in one query. `key` is the line's name for good: snoozes are kept by it. With `mark`, which
says what it is about (the newest id), it can be dismissed until that changes; with `retry`, done again from here.
"""

from memplatform.site.attention.items import Item, Viewer

__all__ = ["Item", "Viewer"]
