"""Bearer tokens, from a text, a file or a callback."""

import asyncio
import inspect
import threading
from typing import Awaitable, Callable, Optional, TypeVar, Union

from .._core.bearer import BearerToken
from .._core.outcome import Outcome
from .._options import GivenToken, TokenFile, TokenOption

T = TypeVar("T")

TokenSource = Callable[[], Awaitable[BearerToken]]


def token_source(option: Optional[TokenOption]) -> Optional[TokenSource]:
    """None: the calls carry no token."""
    if option is None:
        return None

    async def fetch() -> BearerToken:
        if isinstance(option, str):
            return BearerToken(option)
        if isinstance(option, TokenFile):
            with open(option.path, encoding="utf-8") as file:
                return BearerToken(file.read().strip())
        return await _call(option)

    return fetch


def fetch_later(source: TokenSource) -> Callable[[], Outcome[BearerToken]]:
    """The source as the engine wants it."""

    async def run(outcome: Outcome[BearerToken]) -> None:
        try:
            bearer = await source()
        except Exception as error:
            outcome.reject(error)
        else:
            outcome.resolve(bearer)

    # The loop keeps only weak references of tasks.
    tasks = set()

    def fetch() -> Outcome[BearerToken]:
        outcome: Outcome[BearerToken] = Outcome()
        task = asyncio.get_running_loop().create_task(run(outcome))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return outcome

    return fetch


async def _call(give: Callable[[], Union[GivenToken, Awaitable[GivenToken]]]) -> BearerToken:
    """A plain function may block, and the heartbeats must go on meanwhile."""
    result: Union[GivenToken, Awaitable[GivenToken]]
    result = give() if inspect.iscoroutinefunction(give) else await _in_thread(give)
    given = await result if inspect.isawaitable(result) else result
    return BearerToken(given) if isinstance(given, str) else given


async def _in_thread(run: Callable[[], T]) -> T:
    """In a thread of its own, because a thread of a pool would outlive the client."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(value: Optional[T], error: Optional[BaseException]) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value: Optional[T] = None
        problem: Optional[BaseException] = None
        try:
            value = run()
        except BaseException as error:
            problem = error
        try:
            loop.call_soon_threadsafe(tell, value, problem)
        except RuntimeError:
            pass  # The loop is closed, so nobody waits.

    threading.Thread(target=work, name="holdfast-token", daemon=True).start()
    return await future
