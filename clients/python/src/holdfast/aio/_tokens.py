"""Bearer tokens, from a text, a file or a callback."""

import asyncio
import inspect
import os
import re
import threading
from dataclasses import replace
from typing import Any, Callable, Coroutine, Optional, Set, Tuple, TypeVar, Union

import grpc

from .._core import numbers
from .._core.bearer import BearerToken
from .._core.outcome import Outcome
from .._options import GivenToken, TokenFile, TokenOption
from ..errors import CredentialError, Facts

T = TypeVar("T")


#: Calls of a plain function at one time. Each call of a function that hangs keeps its thread.
_MAX_CALLS = 20


class Tokens:
    """Asks the source of the user. Raises a ValueError for a text that no header may have."""

    def __init__(self, option: TokenOption) -> None:
        self._option = _bearer(option) if isinstance(option, str) else option
        self._calls = 0
        # The loop keeps only weak references of tasks.
        self._tasks: Set[asyncio.Task[Any]] = set()

    async def get(self, timeout: float = numbers.TOKEN) -> BearerToken:
        """Raises a CredentialError, also if the source has not answered in time."""
        if isinstance(self._option, BearerToken):
            return self._option
        asking = self._keep(self._ask())
        try:
            await asyncio.wait([asking], timeout=timeout)
        finally:
            asking.cancel()
        if not asking.done():
            raise _no_token(TimeoutError(f"its source has not answered within {timeout:g} s"))
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

        self._keep(run())
        return outcome

    async def close(self) -> None:
        """Leaves no task. A plain function that hangs keeps its thread."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=numbers.CLOSE)

    def _keep(self, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _ask(self) -> BearerToken:
        option = self._option
        if isinstance(option, BearerToken):
            return option
        if isinstance(option, TokenFile):
            path = option.path
            return _bearer(await self._in_thread(lambda: _read(path)))
        try:
            # A plain function may block, and the heartbeats must go on meanwhile.
            is_async = inspect.iscoroutinefunction(option)
            given = option() if is_async else await self._in_thread(option)
            return _bearer(await given if inspect.isawaitable(given) else given)
        except (SystemExit, KeyboardInterrupt) as error:
            # The source does not end the loop of all sessions.
            raise RuntimeError(f"its source has raised {error!r}") from error

    async def _in_thread(self, run: Callable[[], T]) -> T:
        """In a thread of its own, because a thread of a pool would outlive the client."""
        if self._calls >= _MAX_CALLS:
            raise RuntimeError(f"{_MAX_CALLS} earlier calls of its source have not ended")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def tell(value: Optional[T], error: Optional[Exception]) -> None:
            self._calls -= 1
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)  # type: ignore[arg-type]

        def work() -> None:
            value, problem = _outcome_of(run)
            try:
                loop.call_soon_threadsafe(tell, value, problem)
            except RuntimeError:
                pass  # The loop is closed, so nobody waits.

        threading.Thread(target=work, name="holdfast-token", daemon=True).start()
        self._calls += 1
        return await future


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


def _outcome_of(run: Callable[[], T]) -> Tuple[Optional[T], Optional[Exception]]:
    try:
        return run(), None
    except StopIteration as error:
        # A future refuses this error.
        return None, RuntimeError(f"its source has raised {error!r}")
    except Exception as error:
        return None, error
    except BaseException as error:
        return None, RuntimeError(f"its source has raised {error!r}")
