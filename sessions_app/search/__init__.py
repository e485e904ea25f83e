"""Finding messages again: their search rows, their embeddings, the retriever of session events."""
