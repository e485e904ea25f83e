"""Doors: the ways in that are not the REST API, a folder each; all of them end at the same verbs."""
