"""What the routes of one server share."""

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Request

from paretofoil.web.desk import Desk
from paretofoil.web.jobs import Jobs
from paretofoil.web.settings import Settings
from paretofoil.web.shelf import Shelf
from paretofoil.web.study.file import read_user_study
from paretofoil.web.study.running import RunningStudy


@dataclass(frozen=True)
class House:
    """The agents, and who does the work."""

    settings: Settings
    shelf: Shelf
    desk: Desk
    """Where quick work is done."""
    jobs: Jobs
    """Where searches and proofs are."""
    study: RunningStudy | None = None
    """The user study that people take part in here."""

    @classmethod
    def open(cls, settings: Settings) -> "House":
        study = None if settings.study is None else read_user_study(settings.study)
        shelf = Shelf(settings)
        running = None if study is None else RunningStudy(study, shelf.agent, settings.replies_path)
        return cls(settings, shelf, Desk(settings), Jobs(settings), running)

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
        if self.study is not None:
            self.study.close()


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


Here = Annotated[House, Depends(_house)]
