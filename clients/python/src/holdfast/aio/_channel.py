"""Channels with connections of their own."""

from typing import Union

import grpc.aio

from .._fork import keep
from .._options import Tls, channel_credentials, channel_options

#: A connection that carries calls is pinged after so long without data (milliseconds), so that a
#: watch finds a dead connection. Servers may refuse pings that come far more often.
_KEEPALIVE = [("grpc.keepalive_time_ms", 30_000), ("grpc.keepalive_timeout_ms", 10_000)]


def open_channel(address: str, tls: Union[Tls, bool], keepalive: bool = False) -> grpc.aio.Channel:
    """Raises a HoldfastError if a certificate file cannot be read."""
    credentials, options = channel_credentials(tls), channel_options(tls)
    if keepalive:
        options.extend(_KEEPALIVE)
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options)
    keep(channel)
    return channel
