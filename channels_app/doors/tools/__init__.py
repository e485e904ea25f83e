"""The tools a bot hands to its model: search, read, save and append (C2–C5, C13, E3).

`registry` names them, with what a model reads of each. Whose memory a tool reads is the bot's to say (`place`), never
the model's.
"""
