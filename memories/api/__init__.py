"""The wire: parse, call one verb, answer."""
