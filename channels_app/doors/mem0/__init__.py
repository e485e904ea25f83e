"""The wire of mem0's client: each call is read, given to the verb that is there, and answered as it expects."""
