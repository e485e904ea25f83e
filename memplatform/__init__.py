"""The wires: settings, urls, processes. Nobody imports this package."""
