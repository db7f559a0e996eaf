"""The outcome of an intent: a value or an error, set once by the thread of the engine."""

from typing import Callable, Generic, List, Optional, TypeVar

T = TypeVar("T")


class Outcome(Generic[T]):
    def __init__(self) -> None:
        self.value: Optional[T] = None
        self.error: Optional[BaseException] = None
        self.is_settled = False
        self._callbacks: List[Callable[[Outcome[T]], None]] = []

    def resolve(self, value: T) -> None:
        if not self.is_settled:
            self.value = value
            self._settle()

    def reject(self, error: BaseException) -> None:
        if not self.is_settled:
            self.error = error
            self._settle()

    def then(self, callback: Callable[["Outcome[T]"], None]) -> None:
        """Calls `callback` with this outcome, at once if the outcome is known."""
        if self.is_settled:
            callback(self)
        else:
            self._callbacks.append(callback)

    def _settle(self) -> None:
        self.is_settled = True
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)


def rejected(error: BaseException) -> "Outcome[T]":
    outcome: Outcome[T] = Outcome()
    outcome.reject(error)
    return outcome
