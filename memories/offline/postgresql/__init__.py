"""Django's PostgreSQL for web processes, named as ENGINE: no call waits for a connection to a database that is away."""
