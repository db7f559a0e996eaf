"""Certificates and keys in PEM form."""

import base64
import os
import re
from typing import Optional, Union

#: A PEM text as bytes, or the path of a PEM file.
Pem = Union[bytes, str, "os.PathLike[str]"]

_SEQUENCE = 0x30


def read_pem(pem: Optional[Pem], kind: str) -> Optional[bytes]:
    """The bytes of a PEM of this kind.

    Raises a ValueError that names the file, because gRPC takes any bytes, and then says only that
    it cannot connect.
    """
    if pem is None:
        return None
    if isinstance(pem, bytes):
        text, name = pem, "the given text"
    else:
        name = os.fspath(pem)
        with open(pem, "rb") as file:
            text = file.read()
    pattern = f"-----BEGIN ([A-Z0-9 ]*){kind}-----(.*?)-----END "
    blocks = re.findall(pattern.encode(), text, re.DOTALL)
    if not blocks:
        raise ValueError(f"{name} has no {kind.lower()} in PEM")
    for label, body in blocks:
        if label == b"ENCRYPTED " or b"ENCRYPTED" in body:
            problem = f"{name} has a {kind.lower()} with a password, which gRPC cannot read"
            raise ValueError(problem)
        if not _is_whole(body):
            raise ValueError(f"{name} has a damaged {kind.lower()}")
    return text


def _is_whole(body: bytes) -> bool:
    """Whether the text in base64 has a whole sequence of DER, as certificates and keys are."""
    try:
        der = base64.b64decode(b"".join(body.split()), validate=True)
    except ValueError:
        return False
    if len(der) < 2 or der[0] != _SEQUENCE:
        return False
    # A length of 128 or more stands in the bytes after this one, which has their number.
    count = max(0, der[1] - 0x80)
    length = int.from_bytes(der[2 : 2 + count], "big") if count else der[1]
    return len(der) >= 2 + count + length
