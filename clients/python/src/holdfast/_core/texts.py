"""Texts of callers, which go into the messages of a session."""

from typing import Mapping

from . import numbers

#: The server allows far less, and says so. A message beyond the server's bound would end the
#: session of all leases.
MAX_LENGTH = numbers.MAX_TEXT_LENGTH


def checked_text(text: str, option: str) -> str:
    """Raises a TypeError or a ValueError that names the option if no message can have the text."""
    if not isinstance(text, str):
        raise TypeError(f"{option} must be a str, not {text!r}")
    _check_length(len(text), option)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{option} is no text of Unicode: {error}") from None
    return text


def checked_metadata(metadata: Mapping[str, str]) -> Mapping[str, str]:
    """Raises as `checked_text`, also for texts that are too long together."""
    for key, value in metadata.items():
        checked_text(key, "a key of metadata")
        checked_text(value, f"metadata of {key!r}")
    _check_length(sum(len(key) + len(value) for key, value in metadata.items()), "metadata")
    return metadata


def _check_length(length: int, option: str) -> None:
    if length > MAX_LENGTH:
        raise ValueError(f"{option} has {length} characters; a message has at most {MAX_LENGTH}")
