"""Requests in the order of their arrival, so that one look at the store can serve all that came before it."""


class Arrivals:
    """Counts requests as they arrive.

    A call must see what was acknowledged before it began. Whoever looked at the store after a request had arrived saw
    all of that, so the look serves that request, too; under load many arrive between one look and the next.
    """

    __slots__ = ("latest",)

    def __init__(self) -> None:
        self.latest = 0

    def number(self) -> int:
        """The number of a request that has just arrived, to its last byte."""
        self.latest += 1
        return self.latest
