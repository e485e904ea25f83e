"""The retrieval gate: whether a message needs memory at all (D3). Rules only, no model."""
