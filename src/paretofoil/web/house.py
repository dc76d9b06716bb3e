"""What the routes of one server share."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from paretofoil.web.desk import Desk
from paretofoil.web.jobs import Jobs
from paretofoil.web.settings import Settings
from paretofoil.web.shelf import Shelf


@dataclass(frozen=True)
class House:
    """The agents, and who does the work."""

    settings: Settings
    shelf: Shelf
    desk: Desk
    """Where quick work is done."""
    jobs: Jobs
    """Where searches and proofs are."""

    @classmethod
    def open(cls, settings: Settings) -> "House":
        return cls(settings, Shelf(settings), Desk(settings), Jobs(settings))

    def start(self) -> None:
        """Start the processes that do the work."""
        self.desk.start()
        self.jobs.start()

    async def quick(self, kind: str, asked: dict[str, Any]) -> bytes:
        """Quick work about an agent (`quick.py`): its JSON."""
        return await self.desk.do(kind, self.shelf.place(asked["agent"]).address, asked)

    def close(self) -> None:
        self.jobs.close()
        self.desk.close()
        self.shelf.close()


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


Here = Annotated[House, Depends(_house)]
