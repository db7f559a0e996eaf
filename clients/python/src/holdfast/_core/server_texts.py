"""The texts of a server, with the names of the options of this package."""

import re

#: Names and advice of the contract, and those of this package. Longer phrases first.
_NAMES = {
    "repeat the call with the same request_id": "call again",
    " with a new request_id": "",
    "use a new request_id": "call again",
    "wait_timeout": "wait",
    "permit_count": "permits",
    "initial_limit": "limit",
    "page_size": "limit",
    "recents_list": "recents",
    "entry_ids": "ids",
}

#: Names in quotes, which stay, the commands of a session before a field, and what has another
#: name here.
_PARTS = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|\b(?:acquire_lock|acquire_permits|start)\.(?=[a-z_]+\b)|"
    + "|".join(rf"{name}\b" if name.startswith(" ") else rf"\b{name}\b" for name in _NAMES)
)


def own_names(text: str) -> str:
    def own(found: "re.Match[str]") -> str:
        part = found.group()
        return part if part.startswith('"') else _NAMES.get(part, "")

    return _PARTS.sub(own, text)
