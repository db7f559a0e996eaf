"""The options of a connection."""

import ipaddress
import os
import re
from dataclasses import dataclass
from typing import Awaitable, Callable, List, Optional, Sequence, Tuple, Union

import grpc

from ._core.bearer import BearerToken
from ._core.servers import Server
from ._pem import Pem, read_pem
from .errors import CredentialError, Facts, error_of

#: "host:port", several as a list or with commas.
Addresses = Union[str, Sequence[str]]

ChannelOptions = List[Tuple[str, Union[str, int]]]


@dataclass(frozen=True)
class Tls:
    """TLS. Files are read for each connection, so a renewed certificate needs no restart.

    Raises a ValueError for a PEM text as a str.

    ca: the certificate authorities of the servers. Default: those of gRPC.
    cert, key: the client's certificate with its chain, and its key.
    server_name: the name in the server's certificate, if it differs from the address. For tests.
    """

    ca: Optional[Pem] = None
    cert: Optional[Pem] = None
    key: Optional[Pem] = None
    server_name: Optional[str] = None

    def __post_init__(self) -> None:
        for name in ("ca", "cert", "key"):
            given = getattr(self, name)
            # The error of a missing file would show the key. A key in base64 is longer than
            # a path.
            if isinstance(given, str) and ("-----BEGIN" in given or len(given) > 255):
                raise ValueError(f"{name} is no path: give a PEM text as bytes, a str is a path")


@dataclass(frozen=True)
class TokenFile:
    """A file with a bearer token. Read again for each session and each call."""

    path: Union[str, "os.PathLike[str]"]


#: What a callback may give.
GivenToken = Union[str, BearerToken]

#: A fixed token, a file, or a function that gives a token. A plain function runs in a thread.
TokenOption = Union[str, TokenFile, Callable[[], Union[GivenToken, Awaitable[GivenToken]]]]


def address_list(addresses: Addresses) -> List[str]:
    """Raises a ValueError for an empty list or an address without a port."""
    if isinstance(addresses, str):
        found = [address.strip() for address in addresses.split(",")]
    else:
        found = list(addresses)
    if not found:
        raise ValueError("connect needs at least one address")
    for address in found:
        if not re.search(r":\d+$", address):
            raise ValueError(f'an address must be "host:port", not {address!r}')
    return found


def refuse_token_without_tls(addresses: Sequence[str]) -> None:
    """Raises a CredentialError if a token would cross a network without TLS.

    Others could read and use the token. A loopback address is no network.
    """
    far = next((address for address in addresses if not is_loopback(address)), None)
    if far is not None:
        text = (
            f"the token would go to {far} without TLS, and anybody on the way could use the token:"
            " give tls, or allow_insecure_token if the network itself is encrypted"
        )
        facts = Facts("TOKEN_WITHOUT_TLS", grpc.StatusCode.UNAUTHENTICATED)
        raise CredentialError(text, facts)


def is_loopback(address: str) -> bool:
    """Whether the address ("host:port") leads to the own machine."""
    host = address.rpartition(":")[0].lower()
    host = host[1:-1] if host.startswith("[") else host
    if host == "localhost":
        return True
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def channel_credentials(tls: Union[Tls, bool]) -> Optional[grpc.ChannelCredentials]:
    """None: no TLS. Raises a HoldfastError if a file cannot be read, or is damaged."""
    if tls is False:
        return None
    given = Tls() if tls is True else tls
    try:
        return grpc.ssl_channel_credentials(
            root_certificates=read_pem(given.ca, "CERTIFICATE"),
            private_key=read_pem(given.key, "PRIVATE KEY"),
            certificate_chain=read_pem(given.cert, "CERTIFICATE"),
        )
    except (OSError, ValueError) as error:
        facts = Facts("NO_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED)
        raise error_of(f"the connection has no certificate: {error}", facts) from error


def channel_options(server: Server, tls: Union[Tls, bool]) -> ChannelOptions:
    """The options of every channel. A certificate belongs to the name that the caller gave."""
    options: ChannelOptions = [
        # Every session has a connection of its own, so that calls cannot delay its heartbeats.
        ("grpc.use_local_subchannel_pool", 1),
        # The client repeats by itself, by reasons and ids.
        ("grpc.enable_retries", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1000),
    ]
    server_name = tls.server_name if isinstance(tls, Tls) else None
    authority = server_name
    if server.address:
        # The environment leaves out names, not what they mean.
        options.append(("grpc.enable_http_proxy", 0))
        if server_name is None:
            authority, server_name = server.given, server.given.rpartition(":")[0]
    if server_name is not None and authority is not None:
        options.append(("grpc.ssl_target_name_override", server_name))
        options.append(("grpc.default_authority", authority))
    return options
