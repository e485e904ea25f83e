"""`python -m tests.system.replicas.walled`: many threads read all there is from a replica, each in one workspace, and
leave now and then by an error; prints what a thread saw that was not its own, and how many rows were seen.
"""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import django


def look(number: int) -> tuple[list[str], int]:
    """One thread's share."""
    from django.db import OperationalError, connection, transaction
    from django.db.models import Max, Min

    from memories.models import Entry, Scope
    from memories.offline import replicas

    chance, strange, rows = random.Random(number), list[str](), 0
    for _turn in range(20):
        workspace = chance.choice(range(1, 9))
        try:
            with replicas.stale(workspace):
                if chance.random() < 0.3:
                    try:
                        with transaction.atomic(), connection.cursor() as cursor:
                            cursor.execute("DELETE FROM memories_entry")
                        strange.append("wrote")
                    except django.db.InternalError:
                        pass
                seen = Entry.objects.aggregate(least=Min("workspace_id"), most=Max("workspace_id"))
                rows += Entry.objects.count()
                others = {*seen.values(), *Scope.objects.values_list("workspace_id", flat=True)} - {None, workspace}
                strange += [f"{workspace} saw {other}" for other in others]
                if chance.random() < 0.3:
                    raise OperationalError("in the middle")
        except replicas.NeedsPrimary:
            pass
        if Entry.objects.count():  # the database itself, outside of any wall
            strange.append("the database is open")
    connection.close()
    return strange, rows


if __name__ == "__main__":
    django.setup()
    with ThreadPoolExecutor(8) as threads:
        seen = list(threads.map(look, range(8)))
    print(json.dumps([[text for strange, _rows in seen for text in strange], sum(rows for _strange, rows in seen)]))
