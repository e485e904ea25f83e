"""How the property tests choose their examples: the same ones every time; `make search` looks among many others.

A found example is told with a line `@reproduce_failure(…)`; `--hypothesis-seed` repeats a whole search.
"""

from hypothesis import HealthCheck, Phase, settings

SEARCH = "search"
#: A search tries so many times as many.
MORE = 50

settings.register_profile(
    "fixed",
    derandomize=True,
    database=None,
    deadline=None,  # a busy machine fails no test
    phases=(Phase.explicit, Phase.generate),  # what fails, fails at once: making it small is for a search
    suppress_health_check=list(HealthCheck),
)
settings.register_profile(
    SEARCH,
    max_examples=100 * MORE,
    database=None,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("fixed")  # pytest's --hypothesis-profile comes later


def examples(count: int) -> settings:
    searches = settings.get_current_profile_name().startswith(SEARCH)
    return settings(max_examples=count * MORE if searches else count)
