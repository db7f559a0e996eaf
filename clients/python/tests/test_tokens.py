"""Token sources that hang, raise, or give what no header may have."""

import asyncio
import threading
import unittest
from typing import Callable, List

from holdfast import BearerToken, CredentialError, Tls
from holdfast._options import refuse_token_without_tls
from holdfast.aio._tokens import Tokens


def get(source: Callable[[], object], timeout: float = 10.0) -> BearerToken:
    async def work() -> BearerToken:
        tokens = Tokens(source)  # type: ignore[arg-type]
        try:
            return await tokens.get(timeout)
        finally:
            await tokens.close()

    return asyncio.run(work())


class TokenSources(unittest.TestCase):
    def test_a_source_that_hangs_is_given_up_and_asked_again(self) -> None:
        end = threading.Event()
        self.addCleanup(end.set)
        asked: List[int] = []

        def source() -> str:
            asked.append(1)
            if len(asked) == 1:
                end.wait()
            return "fresh"

        async def work() -> None:
            tokens = Tokens(source)
            with self.assertRaises(CredentialError):
                await tokens.get(0.2)
            self.assertEqual((await tokens.get()).token, "fresh")

        asyncio.run(work())

    def test_calls_that_hang_are_bounded(self) -> None:
        end = threading.Event()
        self.addCleanup(end.set)
        asked: List[int] = []

        def source() -> str:
            asked.append(1)
            end.wait()
            return "late"

        async def work() -> None:
            tokens = Tokens(source)
            for _ in range(30):
                with self.assertRaises(CredentialError):
                    await tokens.get(0.001)

        asyncio.run(work())
        self.assertLessEqual(len(asked), 20)

    def test_each_error_of_a_source_is_a_credential_error(self) -> None:
        def raising(error: BaseException) -> Callable[[], str]:
            def source() -> str:
                raise error

            return source

        for error in (ValueError("no key"), StopIteration(), SystemExit(1), TimeoutError()):
            with self.subTest(error), self.assertRaises(CredentialError):
                get(raising(error))

    def test_an_async_source_that_exits_ends_no_loop(self) -> None:
        async def source() -> str:
            raise SystemExit(1)

        with self.assertRaises(CredentialError):
            get(source)

    def test_white_space_is_cut_and_no_error_shows_a_token(self) -> None:
        self.assertEqual(get(lambda: " secret\n").token, "secret")
        with self.assertRaises(CredentialError) as caught:
            get(lambda: "geheim\nwort")
        self.assertNotIn("geheim", str(caught.exception))
        with self.assertRaises(ValueError):
            Tokens("")

    def test_a_token_without_tls_goes_to_the_own_machine_only(self) -> None:
        near = ["localhost:1", "127.0.0.2:1", "[::1]:1", "[::ffff:127.0.0.1]:1"]
        refuse_token_without_tls(near)
        with self.assertRaises(CredentialError) as caught:
            refuse_token_without_tls([*near, "10.0.0.1:1"])
        self.assertEqual(caught.exception.reason, "TOKEN_WITHOUT_TLS")

    def test_a_pem_text_as_a_path_is_refused_without_the_key(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Tls(key="-----BEGIN PRIVATE KEY-----\nsecret")
        self.assertNotIn("secret", str(caught.exception))
