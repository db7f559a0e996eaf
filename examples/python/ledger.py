"""A protected store: it refuses a token that is smaller than the token of an earlier write."""

import json
import urllib.error
import urllib.request


class Refused(Exception):
    pass


def write(url: str, token: int, text: str) -> None:
    body = json.dumps({"token": token, "text": text}).encode()
    try:
        urllib.request.urlopen(url, body, timeout=10).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
        newer = error.read().decode()
        raise Refused(f"ledger refused token {token}: token {newer} has written") from None
