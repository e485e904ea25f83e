"""How often Python's garbage collector looks.

What a start imports, and what a migration renders, mostly stays. At its usual pace the collector walks over that again
and again: a sixth of the processor time of a start, and a third of all migrations.
"""

import gc

_USUAL = gc.get_threshold()
_RARE = (50_000, 20, 50)  # objects made before it looks at the young; looks before it goes on to the older ones


def look_rarely() -> None:
    """While much is made that stays; it costs some 70 MB during the migrations."""
    gc.set_threshold(*_RARE)


def look_as_usual() -> None:
    """For what runs for months."""
    gc.set_threshold(*_USUAL)
