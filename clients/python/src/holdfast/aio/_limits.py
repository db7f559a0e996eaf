"""Compares the limit of the caller with the limit in force.

A server grants permits of an existing semaphore whatever limit the request has, and a grant does
not tell the limit.
"""

import asyncio
import json
from dataclasses import replace
from typing import Awaitable, Callable, Dict, List, Optional, Set, TypeVar

import grpc

from .._core import clock, numbers
from .._core.acquire_intent import Acquire
from .._core.news import News
from ..errors import (
    Facts,
    HoldfastError,
    LimitMismatchError,
    NoSuchSemaphoreError,
    NotAllowedError,
)
from ..v1.semaphore_service_pb2 import GetSemaphoreRequest
from ..v1.semaphore_service_pb2_grpc import SemaphoreServiceStub
from ._calls import CallChannel
from ._lease import Lease

LeaseT = TypeVar("LeaseT", bound=Lease)

#: Further limits are not looked up. A program with so many of them makes their names as it goes.
_MAX_COMPARED = 10_000


class _Compared:
    """The limits that the callers want for one name."""

    def __init__(self) -> None:
        self.wanted: Set[int] = set()
        #: Those that the look-up under way is for.
        self.unanswered: List[int] = []
        self.is_asking = False
        #: The caller may not read the limit.
        self.is_hidden = False


class SemaphoreLimits:
    def __init__(self, calls: CallChannel, news: News) -> None:
        self._calls = calls
        self._news = news
        self._compared: Dict[str, _Compared] = {}
        #: The number of the limits of all names.
        self._compared_count = 0
        self._tasks: Set[asyncio.Task[None]] = set()

    async def acquire(
        self, acquire: Acquire, grant: Callable[[Acquire], Awaitable[LeaseT]]
    ) -> LeaseT:
        """Raises as `grant` does, and with `exact_limit` a LimitMismatchError too."""
        expected = acquire.initial_limit
        if expected is None:
            return await grant(acquire)
        if acquire.exact_limit:
            return await self._acquire_exactly(acquire, expected, grant)
        lease = await grant(acquire)
        self._compare_later(acquire.name, expected)
        return lease

    async def close(self) -> None:
        """After the end of the calls."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _acquire_exactly(
        self,
        acquire: Acquire,
        expected: int,
        grant: Callable[[Acquire], Awaitable[LeaseT]],
    ) -> LeaseT:
        started_at = clock.now()
        wait = acquire.wait
        timeout = numbers.CALL
        if wait is not None:
            timeout = min(wait + numbers.ANSWER_AFTER_WAIT, timeout)
        exists = await self._exists(acquire.name, expected, timeout)
        if wait is not None:
            acquire = replace(acquire, wait=max(0.0, wait - (clock.now() - started_at)))
        lease = await grant(acquire)
        if exists:
            return lease
        try:
            # Another client may have created the semaphore before this acquire.
            if not await self._exists(acquire.name, expected, numbers.CALL):
                text = f"the semaphore {json.dumps(acquire.name)} was deleted meanwhile"
                facts = Facts("NO_SUCH_SEMAPHORE", grpc.StatusCode.NOT_FOUND)
                raise NoSuchSemaphoreError(text, facts)
        except BaseException:
            lease.give_back()
            raise
        return lease

    async def _exists(self, name: str, expected: int, timeout: float) -> bool:
        """False: there is no semaphore yet. Raises if the limit differs, or cannot be read."""
        limit = await self._limit_of(name, timeout)
        if limit is None or limit == expected:
            return limit is not None
        text = (
            f"the semaphore {json.dumps(name)} has the limit {limit},"
            f" and exact_limit demands {expected}"
        )
        metadata = {"limit": str(limit), "expected_limit": str(expected)}
        facts = Facts("LIMIT_MISMATCH", grpc.StatusCode.FAILED_PRECONDITION, metadata)
        raise LimitMismatchError(text, facts)

    def _compare_later(self, name: str, expected: int) -> None:
        """Once for each limit of a name, after its first grant. Neither delays nor fails it."""
        compared = self._compared.get(name) or _Compared()
        is_known = compared.is_hidden or expected in compared.wanted
        if is_known or self._compared_count >= _MAX_COMPARED:
            return
        self._compared[name] = compared
        self._compared_count += 1
        compared.wanted.add(expected)
        compared.unanswered.append(expected)
        if compared.is_asking:
            return
        compared.is_asking = True
        task = asyncio.get_running_loop().create_task(self._compare(name, compared))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _compare(self, name: str, compared: _Compared) -> None:
        """Warns of the limits that differ. Whoever may not read the limit gets no warning."""
        limit: Optional[int] = None
        try:
            limit = await self._limit_of(name, numbers.CALL)
        except HoldfastError as error:
            compared.is_hidden = isinstance(error, NotAllowedError)
        finally:
            unanswered, compared.unanswered = compared.unanswered, []
            compared.is_asking = False
            if limit is None and not compared.is_hidden:
                self._forget(name, compared, unanswered)
        for expected in unanswered:
            if limit is not None and limit != expected:
                self._news.other_limit(name, limit, expected)

    def _forget(self, name: str, compared: _Compared, unanswered: List[int]) -> None:
        """Without an answer the next grant asks again."""
        compared.wanted.difference_update(unanswered)
        self._compared_count -= len(unanswered)
        if not compared.wanted:
            del self._compared[name]

    async def _limit_of(self, name: str, timeout: float) -> Optional[int]:
        """None: there is no semaphore. A paused one counts with the limit that comes back."""
        try:
            response = await self._calls.unary(
                lambda channel: SemaphoreServiceStub(channel).GetSemaphore,
                GetSemaphoreRequest(name=name),
                timeout=timeout,
            )
        except NoSuchSemaphoreError:
            return None
        return response.semaphore.kept_limit or response.semaphore.limit
