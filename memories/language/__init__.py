"""What text is made of, and what two texts have in common: words, names, dates, numbers, likeness. No Django here."""
