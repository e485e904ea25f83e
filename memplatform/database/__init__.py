"""Roles, logins and rights of the processes in the database, and checks of them."""
