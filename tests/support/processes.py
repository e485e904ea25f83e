"""What processes need to work on the database of the tests."""

from urllib.parse import quote, urlencode

from django.db import connection


def database_url(name: str = "") -> str:
    """Where this test run keeps its tables, for DATABASE_URL; or another database of that server, by its name."""
    told = connection.settings_dict
    user = f"{told['USER']}:{quote(told['PASSWORD'], safe='')}" if told["PASSWORD"] else told["USER"]
    where = {key.lower(): told[key] for key in ("HOST", "PORT") if told[key]}
    return f"postgresql://{user}@/{name or told['NAME']}?{urlencode(where, quote_via=quote)}"
