"""Where candidates come from: the one statement over the scopes, its filters, and the retrievers beside it."""
