"""The pages of people: everybody who was seen, a person, linking and unlinking, consents, and what is taken out."""
