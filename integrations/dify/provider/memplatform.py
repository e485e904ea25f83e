"""The provider: whether an address and a key are good."""

from typing import Any

from dify_plugin import ToolProvider
from dify_plugin.errors.tool import ToolProviderCredentialValidationError
from memory import Away, call


class MemplatformProvider(ToolProvider):
    """Where the platform is, and the bot's key."""

    def _validate_credentials(self, credentials: dict[str, Any]) -> None:
        """Ask the platform for its tools, which changes nothing. Raises ToolProviderCredentialValidationError."""
        try:
            call(credentials, "GET", "tools")
        except Away as why:
            raise ToolProviderCredentialValidationError(f"The platform does not take them: {why}") from None
