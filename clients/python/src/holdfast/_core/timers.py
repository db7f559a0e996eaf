"""Timers that are cancelled together."""

from typing import Callable, Dict

from .runtime import Runtime, Timer


class Timers:
    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._timers: Dict[int, Timer] = {}
        self._last = 0

    def later(self, delay: float, run: Callable[[], None]) -> None:
        self._last += 1
        number = self._last

        def fire() -> None:
            del self._timers[number]
            if not self._runtime.is_forked():
                run()

        self._timers[number] = self._runtime.call_later(delay, fire)

    def cancel(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
