"""The servers that share one store: any of them can go on where another one stopped."""

from __future__ import annotations

from typing import Dict, List

import grpc

CONNECT_TIMEOUT = 1.0
CHANNEL = [
    # A channel of its own: other work of a program on the same connection must not delay the lease's news or take
    # the connection down with it.
    ("grpc.use_local_subchannel_pool", 1),
    # Notices a server that is gone without a word in 8 s. A place in the queue is kept for 10.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 3000),
    ("grpc.http2.max_pings_without_data", 0),
    # By default the pause between two connection attempts grows to two minutes: no lease lives that long.
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
        """To the server that calls go to now."""
        if self.address not in self._channels:
            self._channels[self.address] = grpc.insecure_channel(self.address, options=CHANNEL)
        return self._channels[self.address]

    def connect(self) -> None:
        """Finds one that answers. It is no error yet that none does: calls go on looking."""
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
