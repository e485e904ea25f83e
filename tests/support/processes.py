"""What processes need to work on the database of the tests."""

from urllib.parse import quote, urlencode

from django.db import connection


def database_url() -> str:
    """Where this test run keeps its tables, for DATABASE_URL."""
    told = connection.settings_dict
    user = f"{told['USER']}:{quote(told['PASSWORD'], safe='')}" if told["PASSWORD"] else told["USER"]
    where = {"host": told["HOST"], "port": told["PORT"]}
    return f"postgresql://{user}@/{told['NAME']}?{urlencode({name: value for name, value in where.items() if value})}"
