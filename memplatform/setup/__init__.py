"""Installing the platform, and what a fresh one begins with."""
