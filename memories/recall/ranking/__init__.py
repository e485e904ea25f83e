"""In which order candidates are served, and how many: scores, features, corrections, the owner's reranker."""
