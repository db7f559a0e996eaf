"""Bearer tokens, from a text, a file or a callback."""

import asyncio
import inspect
import os
import re
import threading
from dataclasses import replace
from typing import Awaitable, Callable, Optional, Set, TypeVar, Union

import grpc

from .._core import numbers
from .._core.bearer import BearerToken
from .._core.outcome import Outcome
from .._options import GivenToken, TokenFile, TokenOption
from ..errors import CredentialError, Facts, no_answer

T = TypeVar("T")


class Tokens:
    """Asks the source of the user, one call after the other.

    So a source that hangs costs one thread, and never more. Raises a ValueError for a text that no
    header may have.
    """

    def __init__(self, option: TokenOption) -> None:
        self._option = _bearer(option) if isinstance(option, str) else option
        self._asking: Optional[asyncio.Task[BearerToken]] = None
        # The loop keeps only weak references of tasks.
        self._tasks: Set[asyncio.Task[None]] = set()

    async def get(self, timeout: float = numbers.CONNECT) -> BearerToken:
        """Raises a CredentialError, also if the source has not answered in time."""
        if isinstance(self._option, BearerToken):
            return self._option
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        asking = self._asking
        await asyncio.wait([asking], timeout=timeout)
        if not asking.done():
            raise _no_token(no_answer(f"its source has not answered within {timeout:g} s"))
        if asking.cancelled():
            raise _no_token(RuntimeError("its source was cancelled"))
        error = asking.exception()
        if error is not None:
            raise _no_token(error)
        return asking.result()

    def fetch(self) -> Outcome[BearerToken]:
        """The token as the engine wants it."""
        outcome: Outcome[BearerToken] = Outcome()

        async def run() -> None:
            try:
                outcome.resolve(await self.get())
            except CredentialError as error:
                outcome.reject(error)

        task = asyncio.get_running_loop().create_task(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return outcome

    async def close(self) -> None:
        """Leaves no task. A plain function that hangs keeps its thread."""
        tasks = {task for task in (*self._tasks, self._asking) if task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=numbers.CLOSE)

    async def _ask(self) -> BearerToken:
        option = self._option
        if isinstance(option, TokenFile):
            path = option.path
            return _bearer(await _in_thread(lambda: _read(path)))
        if isinstance(option, BearerToken):
            return option
        return await _call(option)


def _read(path: Union[str, "os.PathLike[str]"]) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _bearer(given: GivenToken) -> BearerToken:
    """A file often ends with a line break, which no header may have. Errors show no token."""
    bearer = BearerToken(given) if isinstance(given, str) else given
    if not isinstance(bearer, BearerToken):
        raise TypeError(f"a token is a str or a BearerToken, not a {type(bearer).__name__}")
    token = bearer.token.strip()
    if not re.fullmatch(r"[\x20-\x7e]+", token):
        raise ValueError("the token is empty, or has characters that no header may have")
    return replace(bearer, token=token)


def _no_token(cause: BaseException) -> CredentialError:
    facts = Facts("NO_CREDENTIAL", grpc.StatusCode.UNAUTHENTICATED)
    error = CredentialError(f"the client has no token: {cause}", facts)
    error.__cause__ = cause
    return error


async def _call(give: Callable[[], Union[GivenToken, Awaitable[GivenToken]]]) -> BearerToken:
    """A plain function may block, and the heartbeats must go on meanwhile."""
    result: Union[GivenToken, Awaitable[GivenToken]]
    try:
        result = give() if inspect.iscoroutinefunction(give) else await _in_thread(give)
        if inspect.isawaitable(result):
            return _bearer(await asyncio.wait_for(result, numbers.CONNECT))
        return _bearer(result)
    except (SystemExit, KeyboardInterrupt) as error:
        # The source does not end the loop of all sessions.
        raise RuntimeError(f"its source has raised {error!r}") from error


async def _in_thread(run: Callable[[], T]) -> T:
    """In a thread of its own, because a thread of a pool would outlive the client."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(value: Optional[T], error: Optional[Exception]) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value: Optional[T] = None
        problem: Optional[Exception] = None
        try:
            value = run()
        except StopIteration as error:
            # A future refuses this error.
            problem = RuntimeError(f"its source has raised {error!r}")
        except Exception as error:
            problem = error
        except BaseException as error:
            problem = RuntimeError(f"its source has raised {error!r}")
        try:
            loop.call_soon_threadsafe(tell, value, problem)
        except RuntimeError:
            pass  # The loop is closed, so nobody waits.

    threading.Thread(target=work, name="holdfast-token", daemon=True).start()
    return await future
