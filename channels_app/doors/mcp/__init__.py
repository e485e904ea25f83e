"""The door for clients of MCP: a face over the API, asked over HTTP with the client's own key.

It needs no database and no Django: keys, scopes, limits, outages are minded where the calls are answered.
"""

#: Where it is spoken over HTTP.
PATH = "/mcp"
