"""Lark, and Feishu, as it is called in China: one wire, two addresses.

platform (options, verification, sending) → events (what is reported), api (calls and error codes), connection (the long
connection, in a process of its own: connection_process)
"""
