"""What every request passes: proxies, limits, logging, the wall."""
