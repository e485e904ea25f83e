"""What requests pass on their way: trusted proxies, middleware, access to details, bodies nobody reads."""
