"""The processes of the platform: supervisor, children, web workers, signs of life."""
