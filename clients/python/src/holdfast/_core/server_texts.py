"""The texts of a server, with the names of the options of this package."""

import re

#: Names and advice of the contract, and those of this package. Longer phrases first.
_NAMES = {
    "repeat the call with the same request_id": "call again",
    "use a new request_id": "call again",
    "open a second session with another client_id": "use a second client",
    "update.metadata_update.entries": "metadata",
    "wait_timeout": "wait",
    "permit_count": "permits",
    "initial_limit": "limit",
    "page_size": "limit",
    "recents_list": "recents",
    "entry_ids": "ids",
}

#: Names in quotes, which stay, the commands before a field, the ids that this package itself
#: repeats or renews, and what has another name here.
_PARTS = re.compile(
    r'"(?:[^"\\]|\\.)*"'
    r"|\b(?:acquire_lock|acquire_permits|start|suggest)\.(?=[a-z_]+\b)"
    r"| with (?:a new request_id|the same lease_id|request_id [0-9A-Za-z-]+)\b|"
    + "|".join(rf"\b{re.escape(name)}\b" for name in _NAMES)
)


def own_names(text: str) -> str:
    def own(found: "re.Match[str]") -> str:
        part = found.group()
        return part if part.startswith('"') else _NAMES.get(part, "")

    return _PARTS.sub(own, text)
