"""The door for clients of MCP that have no key: somebody of the staff lets them in (OAuth 2.1).

The protocol is Authlib's (RFC 6749, 7009, 7591, 7636, 8414); here stands what it is about: a bot, a person's memory,
and what may be done with it. What a client gets is a key of that bot, narrowed to what was allowed.
"""
