"""Channels with connections of their own."""

from typing import Union

import grpc.aio

from .._fork import keep
from .._options import Tls, channel_credentials, channel_options


def open_channel(address: str, tls: Union[Tls, bool]) -> grpc.aio.Channel:
    """Raises an OSError if a certificate file cannot be read."""
    credentials, options = channel_credentials(tls), channel_options(tls)
    if credentials is None:
        channel = grpc.aio.insecure_channel(address, options)
    else:
        channel = grpc.aio.secure_channel(address, credentials, options)
    keep(channel)
    return channel
