"""What the routes of one server share."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from paretofoil.web.desk import Desk
from paretofoil.web.jobs import Jobs
from paretofoil.web.moment import Moments
from paretofoil.web.picture import Pictures
from paretofoil.web.settings import Settings
from paretofoil.web.shelf import Shelf


@dataclass(frozen=True)
class House:
    """The agents, and who does the work."""

    settings: Settings
    shelf: Shelf
    moments: Moments
    pictures: Pictures
    desk: Desk
    """Where quick work is done."""
    jobs: Jobs
    """Where searches and proofs are."""

    @classmethod
    def open(cls, settings: Settings) -> "House":
        shelf = Shelf(settings)
        moments = Moments(shelf)
        return cls(settings, shelf, moments, Pictures(shelf, moments), Desk(), Jobs(settings))

    def close(self) -> None:
        self.jobs.close()
        self.desk.close()
        self.shelf.close()


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


Here = Annotated[House, Depends(_house)]
