"""Long-term memory for a chat bot: every call of memplatform, sync (`Client`) and async (`AsyncClient`)."""

from memplatform_client import errors, types
from memplatform_client.client import AsyncClient, Client
from memplatform_client.errors import ApiError, MemplatformError, NoAnswer

__version__ = "0.1.0"
__all__ = ["ApiError", "AsyncClient", "Client", "MemplatformError", "NoAnswer", "errors", "types"]
