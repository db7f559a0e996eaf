"""How long this process may believe in a lease."""


class Belief:
    """The latest deadline counts, a deadline that has passed stays passed.

    Any thread may ask. Only the thread of the engine confirms.
    """

    __slots__ = ("_ended", "_until")

    def __init__(self, deadline: float) -> None:
        self._until = deadline
        self._ended = False

    @property
    def deadline(self) -> float:
        return self._until

    def is_over(self, now: float) -> bool:
        """Compares the clock, because a timer may be late."""
        if now >= self._until:
            self._ended = True
        return self._ended

    def confirm(self, deadline: float, now: float) -> None:
        """Takes the deadline of a renewal or an attach. Without effect if the belief is over."""
        if not self.is_over(now):
            self._until = max(self._until, deadline)

    def end(self) -> None:
        self._ended = True
