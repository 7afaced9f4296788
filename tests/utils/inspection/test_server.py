import json

import pytest

pytest.importorskip("gradio")

from fastapi.testclient import TestClient

from agents.loading import load_policy
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of
from tests.utils.inspection.test_desk import SameThread
from utils.inspection.desk import Desk
from utils.inspection.media import MediaShelf
from utils.inspection.progress import Progress
from utils.inspection.server import STATIC_FOLDER, build_app
from utils.inspection.studio import Studio


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One page over two runs, in a folder whose name has a space; both have one recording."""
    runs_dir = tmp_path_factory.mktemp("served") / "my runs"
    config = make_config(config_id="<b>x</b>:ppo")
    first, second = (make_run(runs_dir, config, states=[state_of(config)]) for _ in range(2))
    for run in (first, second):
        (run.path / ".env").write_text("TOKEN=secret")
    studio = Studio(load_policy)
    media = MediaShelf()
    desk = Desk(
        runs_dir=runs_dir,
        first_run=first,
        first_checkpoint=None,
        studio=lambda: studio,
        main_thread=SameThread(),
        media=media,
        progress=Progress(),
    )
    app = build_app(desk, media, is_loopback=True)
    with TestClient(app, base_url="http://127.0.0.1:7860") as client:
        yield client, desk, first, second
    studio.close()


def test_the_page_and_its_scripts_are_served(served):
    client, *_ = served
    page = client.get("/")
    assert page.status_code == 200
    assert "Episode inspector" in page.text
    for path in STATIC_FOLDER.iterdir():
        response = client.get(f"/inspector/{path.name}")
        assert (response.status_code, response.text) == (200, path.read_text(encoding="utf-8"))


def test_the_browser_is_told_to_load_nothing_from_elsewhere(served):
    client, *_ = served
    policy = client.get("/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'")
    assert "http" not in policy
    config = client.get("/config").json()
    assert config["analytics_enabled"] is False


def test_a_film_that_was_shown_is_served_in_parts(served):
    client, desk, first, _ = served
    value = desk.show(first.id, "epoch=00", None, seed=0, mode="greedy")
    film = value["episodes"][0]["film"]
    whole = client.get(film)
    assert (whole.status_code, whole.headers["content-type"]) == (200, "video/mp4")
    part = client.get(film, headers={"Range": "bytes=4-7"})
    assert (part.status_code, part.content) == (206, b"ftyp")


def test_nothing_else_of_any_run_can_be_loaded(served):
    client, desk, first, second = served
    desk.show(first.id, "epoch=00", None, seed=0, mode="greedy")
    studio = desk._studio()
    other = studio.record(second, desk._config(second.id), _request(second))
    wanted = [
        first.config_path,
        first.path / ".env",
        first.checkpoint("epoch=00"),
        second.config_path,
        other.film,
    ]
    for path in wanted:
        assert path.is_file()
        for url in (
            f"/gradio_api/file={path}",
            f"/gradio_api/file={first.path}/inspection/../{path.name}",
            f"/media/{path}",
            f"/media/..%2F..%2F{path.name}",
            f"/inspector/..%2F{path.name}",
            f"/inspector/{path}",
        ):
            response = client.get(url)
            assert response.status_code in (403, 404), (url, response.status_code)


def _request(run):
    from tests.utils.inspection.test_studio import request_of

    return request_of(run, seed=9)


def test_gradio_serves_no_file_of_the_working_directory(served, monkeypatch):
    client, _, first, _ = served
    monkeypatch.chdir(first.path)
    for name in ("config.json", ".env", "./config.json"):
        assert client.get(f"/gradio_api/file={name}").status_code in (403, 404)


def test_a_page_of_another_site_that_points_its_name_here_is_refused(served):
    client, *_ = served
    assert client.get("/", headers={"Host": "evil.example:7860"}).status_code == 400
    assert client.get("/", headers={"Host": "localhost:7860"}).status_code == 200


def test_the_interface_for_programs_is_named_and_no_more(served):
    client, *_ = served
    info = client.get("/gradio_api/info").json()
    assert set(info["named_endpoints"]) == {
        "/open",
        "/first_episode",
        "/choose_run",
        "/refresh",
        "/play",
    }
    assert "<b>" not in json.dumps(info)
