"""Whether a text says what its sources say: rules, no model; when in doubt it is not believed (A11, B3, D5, D6)."""
