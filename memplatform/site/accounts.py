"""Accounts with their second factor, read in one statement a request."""

from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend


class Accounts(ModelBackend):
    """Django's own accounts and passwords."""

    def get_user(self, user_id: Any) -> Any:
        user = get_user_model()._default_manager.select_related("factor").filter(pk=user_id).first()
        return user if user and self.user_can_authenticate(user) else None
