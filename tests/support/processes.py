"""What processes need to work on the database of the tests."""

from urllib.parse import quote, urlencode

from django.db import connection


def database_url(name: str = "") -> str:
    """Where this test run keeps its tables, for DATABASE_URL; or another database of that server, by its name."""
    own = connection.settings_dict
    user = f"{own['USER']}:{quote(own['PASSWORD'], safe='')}" if own["PASSWORD"] else own["USER"]
    where = {key.lower(): own[key] for key in ("HOST", "PORT") if own[key]}
    return f"postgresql://{user}@/{name or own['NAME']}?{urlencode(where, quote_via=quote)}"
