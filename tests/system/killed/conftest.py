"""What these tests share with those of the packages they kill."""

from tests.memories.consolidation.compression.conftest import model as model
from tests.sessions_app.conftest import talk as talk
