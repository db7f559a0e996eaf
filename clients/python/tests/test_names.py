"""Names of several servers, and look-ups that fail or hang."""

import asyncio
import os
import threading
import unittest
from typing import Dict, List, Sequence
from unittest import mock

from holdfast._core.servers import HostName, Server, Servers
from holdfast._options import channel_options
from holdfast.aio._names import Names


class FakeDns:
    """What each name means. A host that is not in `hosts` is not found."""

    def __init__(self, *given: str) -> None:
        self.hosts: Dict[str, Sequence[str]] = {}
        self.asked: List[str] = []
        self.servers = Servers(given)
        self.names = Names(self.servers.names, self._look_up)

    async def take(self, count: int = 1) -> List[str]:
        taken = []
        for _ in range(count):
            await self.names.looked_up()
            server = self.servers.next().server
            taken.append(server.address or server.given)
        return taken

    def _look_up(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.hosts:
            raise OSError("the name is not found")
        return self.hosts[host]


class NamesOfServers(unittest.IsolatedAsyncioTestCase):
    async def test_each_address_has_its_turn_and_the_families_take_turns(self) -> None:
        dns = FakeDns("servers.test:7")
        dns.hosts["servers.test"] = ["10.0.0.1", "10.0.0.2", "fd00::1", "10.0.0.1"]
        first = await dns.take(3)
        self.assertEqual(await dns.take(3), first)
        self.assertEqual(first[1], "[fd00::1]:7")
        self.assertEqual(sorted(first), ["10.0.0.1:7", "10.0.0.2:7", "[fd00::1]:7"])

    async def test_a_name_keeps_its_addresses_while_it_is_not_found(self) -> None:
        dns = FakeDns("servers.test:7")
        dns.hosts["servers.test"] = ["10.0.0.1"]
        await dns.take(5)
        dns.hosts["servers.test"] = ["10.0.0.1", "10.0.0.9"]
        self.assertEqual(await dns.take(2), ["10.0.0.9:7", "10.0.0.1:7"])
        del dns.hosts["servers.test"]
        self.assertEqual(await dns.take(), ["10.0.0.9:7"])
        dns.hosts["servers.test"] = []
        self.assertEqual(await dns.take(), ["10.0.0.1:7"])

    async def test_a_name_that_moves_is_followed(self) -> None:
        dns = FakeDns("servers.test:7")
        dns.hosts["servers.test"] = ["10.0.0.1", "10.0.0.2"]
        await dns.take()
        dns.hosts["servers.test"] = ["10.0.0.3"]
        self.assertEqual(await dns.take(2), ["10.0.0.3:7", "10.0.0.3:7"])
        self.assertEqual(dns.servers.count, 1)

    async def test_addresses_localhost_and_unknown_names_are_left_to_grpc(self) -> None:
        given = ["servers.test:7", "[::1]:8", "localhost:9", "10.1.1.1:10"]
        dns = FakeDns(*given)
        self.assertEqual(await dns.take(8), given * 2)
        self.assertEqual(set(dns.asked), {"servers.test"})

    async def test_a_name_is_left_to_a_proxy_unless_the_environment_leaves_it_out(self) -> None:
        dns = FakeDns("servers.test:7")
        dns.hosts["servers.test"] = ["10.0.0.1"]
        proxy = {"http_proxy": "http://proxy:3128"}
        with mock.patch.dict(os.environ, proxy, clear=True):
            self.assertEqual(await dns.take(), ["servers.test:7"])
        with mock.patch.dict(os.environ, {**proxy, "no_proxy": "other, .test"}, clear=True):
            self.assertEqual(await dns.take(), ["10.0.0.1:7"])


class LookUpsThatHang(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.answer = threading.Event()
        self.addCleanup(self.answer.set)
        self.asked: List[str] = []

        def look_up(host: str) -> Sequence[str]:
            self.asked.append(host)
            self.answer.wait()
            return ["10.0.0.1"]

        self.servers = Servers(["servers.test:7"])
        self.names = Names(self.servers.names, look_up)

    async def test_they_keep_one_connection_waiting_and_serve_a_later_one(self) -> None:
        for _ in range(3):
            await self.names.looked_up()
            self.assertEqual(self.servers.next().server, Server("servers.test:7"))
        self.assertEqual(self.asked, ["servers.test"])
        self.answer.set()
        while self.servers.next().server.address != "10.0.0.1:7":
            await asyncio.sleep(0.01)

    async def test_they_end_with_the_client_for_whoever_waits(self) -> None:
        waits = self.names.fetch()
        await asyncio.sleep(0)
        await self.names.close()
        self.assertTrue(waits.is_settled)
        self.assertFalse(self.answer.is_set())


class Turns(unittest.TestCase):
    def test_the_addresses_that_are_left_are_those_of_the_first_round_and_then_all(self) -> None:
        servers = Servers(["servers.test:7", "127.0.0.1:8"])
        servers.names[0].found(["10.0.0.1", "10.0.0.2"])
        self.assertEqual([servers.next().left for _ in range(4)], [3, 2, 1, 3])

    def test_other_connections_begin_with_the_server_that_was_taken_last(self) -> None:
        servers = Servers(["a.test:1", "10.0.0.8:2", "10.0.0.9:3"])
        servers.next()
        last = servers.next().server.given
        calls = servers.again()
        taken = [calls.next().server.given for _ in range(4)]
        self.assertEqual(taken, ["10.0.0.8:2", "10.0.0.9:3", "a.test:1", last])

    def test_the_certificate_belongs_to_the_name_and_not_to_its_address(self) -> None:
        name = HostName("servers.test:7")
        name.found(["10.0.0.1"])
        options = dict(channel_options(name.servers[0], True))
        self.assertEqual(options["grpc.ssl_target_name_override"], "servers.test")
        self.assertEqual(options["grpc.default_authority"], "servers.test:7")


if __name__ == "__main__":
    unittest.main()
