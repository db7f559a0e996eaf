"""The servers that share one store. Each server can continue the work of another server."""

from __future__ import annotations

from typing import Dict, List

import grpc

CONNECT_TIMEOUT = 1.0
CHANNEL = [
    # Each channel has its own connection, so that other calls of the program cannot delay events or end the connection.
    ("grpc.use_local_subchannel_pool", 1),
    # A server that has disappeared is detected within 8 s. The store keeps a waiter's place in the queue for 10 s.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 3000),
    ("grpc.http2.max_pings_without_data", 0),
    # By default the pause between two connection attempts grows to two minutes. A lease is usually shorter.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1000),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


class Servers:
    def __init__(self, addresses: List[str]):
        self._addresses = addresses
        self._channels: Dict[str, grpc.Channel] = {}
        self._index = 0

    @property
    def address(self) -> str:
        return self._addresses[self._index % len(self._addresses)]

    @property
    def count(self) -> int:
        return len(self._addresses)

    @property
    def channel(self) -> grpc.Channel:
        """The channel to the current server."""
        if self.address not in self._channels:
            self._channels[self.address] = grpc.insecure_channel(self.address, options=CHANNEL)
        return self._channels[self.address]

    def connect(self) -> None:
        """Searches for a server that answers. Raises no error, because later calls still try every server."""
        for _ in self._addresses:
            try:
                grpc.channel_ready_future(self.channel).result(timeout=CONNECT_TIMEOUT)
                return
            except grpc.FutureTimeoutError:
                self.next()

    def next(self) -> None:
        self._index += 1

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
