"""One run of the job that delivers to webhooks, as a process of its own, so many seconds later."""

import sys

import django

django.setup()

from datetime import timedelta

from tests.memories.webhooks.conftest import deliver

if __name__ == "__main__":
    print(deliver(later=timedelta(seconds=int(sys.argv[1]))), flush=True)
