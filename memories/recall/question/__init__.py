"""What is asked, where it may look, and what the search makes of it: words, people, days, vector."""
