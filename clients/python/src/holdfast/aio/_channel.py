"""Channels with connections of their own."""

from typing import Union

import grpc.aio

from .._core import numbers
from .._core.servers import Server
from .._fork import keep
from .._options import Tls, channel_credentials, channel_options

_KEEPALIVE = [
    ("grpc.keepalive_time_ms", round(numbers.KEEPALIVE * 1000)),
    ("grpc.keepalive_timeout_ms", round(numbers.KEEPALIVE_TIMEOUT * 1000)),
]


def open_channel(
    server: Server, tls: Union[Tls, bool], keepalive: bool = False
) -> grpc.aio.Channel:
    """Raises a HoldfastError if a certificate file cannot be read."""
    credentials, options = channel_credentials(tls), channel_options(server, tls)
    address = server.address or server.given
    if keepalive:
        options.extend(_KEEPALIVE)
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options)
    keep(channel)
    return channel
