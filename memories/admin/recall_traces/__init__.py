"""What the page of a recall trace tells: why the bot said that, candidate by candidate."""
