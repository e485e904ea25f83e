"""How much of a message a recall searches."""

from memories.conf import conf


def searched_part(message: str) -> str:
    """What of a message is searched: all of it, or of a long one its beginning and its end, where people ask."""
    most = conf.RECALL_MESSAGE_CHARS
    return message if len(message) <= most else f"{message[: most // 2]}\n{message[-(most // 2) :]}"
