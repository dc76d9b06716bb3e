"""The application: its routes, behind the guard."""

import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles

from paretofoil.core.version import __version__
from paretofoil.web import routes_agents, routes_episodes, routes_jobs
from paretofoil.web.guard import Guard
from paretofoil.web.house import Here, House
from paretofoil.web.models import Health, Refused
from paretofoil.web.refusal import handle_errors
from paretofoil.web.settings import Settings

ABOUT = """
Why this action, and not that one? Questions to command-conditioned agents, with the JSON of the library.

Errors are `{"error": "one sentence"}`.
"""
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused, "description": told}
    for status, told in {404: "Not known", 422: "Not understood", 503: "Too much to do; come again"}.items()
}
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
"""Told here, since some machines know others, and a browser that is told not to guess would not run them."""

router = APIRouter(tags=["server"])


@router.get("/health", response_model=Health)
async def tell_health(here: Here) -> Any:
    """Whether the server is well, and how much there is to do."""
    return {"status": "well", "version": __version__, "waiting": here.jobs.waiting, "running": here.jobs.running}


def page_folder() -> Path:
    return Path(str(files("paretofoil.web"))) / "page"


def create_app(settings: Settings | None = None) -> FastAPI:
    """The server of the page; its agents are loaded now, its workers start with it and stop with it."""
    house = House.open(settings or Settings())

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        house.start()
        try:
            yield
        finally:
            house.close()

    app = FastAPI(
        title="Paretofoil",
        version=__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # its page would be fetched from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.house = house
    for part in (router, routes_agents.router, routes_episodes.router, routes_jobs.router):
        app.include_router(part, prefix="/api", responses=REFUSALS)
    _serve_page(app)
    handle_errors(app)
    app.add_middleware(Guard, settings=house.settings)
    return app


def _serve_page(app: FastAPI) -> None:
    for ending, kind in TYPES.items():
        mimetypes.add_type(kind, ending)
    app.mount("/page", StaticFiles(directory=page_folder(), html=True))

    @app.get("/", include_in_schema=False)
    async def show_page() -> RedirectResponse:
        return RedirectResponse("/page/")
