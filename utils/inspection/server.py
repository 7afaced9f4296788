"""Serves the page on one address until Ctrl-C, and leaves nothing behind."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import gradio as gr
import uvicorn
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import FileResponse, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

from utils.inspection.desk import Desk
from utils.inspection.main_thread import MainThread
from utils.inspection.media import MEDIA_PATH, MediaShelf
from utils.inspection.page import HEAD, STATIC_PATH, build_page, build_theme
from utils.inspection.plan import InspectPlan
from utils.inspection.progress import Progress

if TYPE_CHECKING:
    from utils.inspection.studio import Studio

STATIC_FOLDER = Path(__file__).parent / "static"
_STATIC_TYPES = {".css": "text/css", ".js": "text/javascript"}
_LONGEST_GOODBYE_SECONDS = 5.0
# Whatever the page or a library of it tries, the browser loads nothing from elsewhere.
_CONTENT_POLICY = (
    "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; frame-ancestors 'self'"
)


def serve(
    plan: InspectPlan, build_studio: Callable[[Progress], Studio], *, stream: TextIO | None = None
) -> None:
    """Serve the page until the process is interrupted or told to end.

    Args:
        plan: What to show, and the socket.
        build_studio: Is called once, in the main thread, when the page can already be loaded; the
            studio tells the progress of its recordings.
        stream: Where the address is told; standard output if None.
    """
    stream = stream or sys.stdout
    main_thread = MainThread()
    media = MediaShelf()
    progress = Progress()
    studio = _Late(lambda: build_studio(progress))
    desk = Desk(
        runs_dir=plan.runs_dir,
        first_run=plan.run,
        first_checkpoint=plan.checkpoint,
        studio=studio.get,
        main_thread=main_thread,
        media=media,
        progress=progress,
    )
    app = build_app(desk, media, is_loopback=plan.is_loopback)
    signal.signal(signal.SIGTERM, _interrupt)
    server = _ServerThread(app, plan.listener)
    try:
        server.start()
        for warning in plan.warnings:
            print(f"warning: {warning}", file=stream)
        print(f"inspecting {plan.run.id} at {plan.address}   (Ctrl-C ends it)", file=stream)
        stream.flush()
        main_thread.run()
    except KeyboardInterrupt:
        print("\ninspector ended", file=stream, flush=True)
    finally:
        server.stop()
        studio.close()


def build_app(desk: Desk, media: MediaShelf, *, is_loopback: bool) -> FastAPI:
    """Build the whole application: page, its own scripts, films.

    Args:
        desk: Answers the page.
        media: The films that may be loaded.
        is_loopback: Refuse requests that call this machine by a foreign name, which is how pages
            of other sites reach local servers (DNS rebinding).
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    if is_loopback:
        app.add_middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])

    @app.middleware("http")
    async def keep_local(request: Request, call_next: Callable[[Request], Any]) -> Response:
        response = await call_next(request)
        response.headers["Content-Security-Policy"] = _CONTENT_POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response

    @app.get(f"{MEDIA_PATH}/{{name}}")
    def film(name: str) -> FileResponse:
        path = media.find(name)
        if path is None or not path.is_file():
            raise HTTPException(404)
        return FileResponse(path, media_type="video/mp4")

    @app.get(f"{STATIC_PATH}/{{name}}")
    def static(name: str) -> FileResponse:
        files = {path.name: path for path in STATIC_FOLDER.iterdir()}
        if name not in files:
            raise HTTPException(404)
        kind = _STATIC_TYPES[files[name].suffix]
        return FileResponse(files[name], media_type=kind, headers={"Cache-Control": "no-cache"})

    return gr.mount_gradio_app(
        app,
        build_page(desk),
        path="",
        theme=build_theme(),
        head=HEAD,
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        pwa=False,
        mcp_server=False,
        enable_monitoring=False,
        allowed_paths=[],
    )


class _Late:
    """The studio, built at its first use."""

    def __init__(self, build: Callable[[], Studio]) -> None:
        self._build = build
        self._studio: Studio | None = None

    def get(self) -> Studio:
        if self._studio is None:
            self._studio = self._build()
        return self._studio

    def close(self) -> None:
        if self._studio is not None:
            self._studio.close()


class _ServerThread:
    """The web server in a thread of its own."""

    def __init__(self, app: FastAPI, listener: socket.socket) -> None:
        self._listener = listener
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level=logging.WARNING,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=1,
            )
        )
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True, name="page"
        )

    def start(self) -> None:
        """Return when the page can be loaded."""
        self._thread.start()
        while not self._server.started:
            self._thread.join(timeout=0.01)
            assert self._thread.is_alive(), "the web server ended before it began"

    def stop(self) -> None:
        """End, and cut what is still open, such as the stream that every open page listens to.

        That somebody was listening is no error of the program, though the libraries log it as one.
        """
        loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio")]
        for logger in loggers:
            logger.disabled = True
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout=_LONGEST_GOODBYE_SECONDS)
        for logger in loggers:
            logger.disabled = self._thread.is_alive()
        self._listener.close()


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - a signal handler
    raise KeyboardInterrupt
