"""The admin site: its home page, figures, palette and front page."""
