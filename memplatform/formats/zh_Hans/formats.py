"""As in English: times that sort as they read."""

from memplatform.formats.en.formats import *  # noqa: F403
