"""How the property tests choose their examples: the same ones every time, a quarter of them in `make quick`;
`make search` looks among many others.

A found example is told with a line `@reproduce_failure(…)`; `--hypothesis-seed` repeats a whole search.
"""

from hypothesis import HealthCheck, Phase, settings

QUICK = "quick"
SEARCH = "search"
#: A search tries so many times as many, and `make quick` one of so many.
MORE, FEWER = 50, 4

for name in ("fixed", QUICK):
    settings.register_profile(
        name,
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


def examples(count: int, *, searched: int = 0) -> settings:
    """So many examples. A search tries MORE times as many, or as `searched`, of what is dear to try."""
    profile = settings.get_current_profile_name()
    if profile.startswith(SEARCH):
        count = (searched or count) * MORE
    elif profile.startswith(QUICK):
        count = -(-count // FEWER)
    return settings(max_examples=count)
