"""A headless browser dreams of episodes of world models, and shows what the pure part says."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from agents.loading import load_policy
from tests.helpers.dreamer_runs import dreamer_config, make_dreamer_run
from tests.helpers.inspector_process import (
    InspectorProcess,
    find_browser,
    headless_browser,
    wait_for,
)
from tests.test_inspector_page import choose
from tests.utils.inspection.test_studio import request_of
from utils.inspection.dream_wish import DreamWish
from utils.inspection.studio import Studio

PLAYER = "document.querySelector('#player .inspector-mount')?.player"
DREAM = f"{PLAYER}?.dreams"
N_STEPS = 12
NOTHING = "\u2013"
# What the large picture of a kind shows in its middle.
PIXEL = """
  const canvas = document.querySelector(`.dream-large canvas[data-kind=${arguments[0]}]`);
  const at = [canvas.width / 2, canvas.height / 2];
  return [...canvas.getContext("2d").getImageData(...at, 1, 1).data.slice(0, 3)];
"""


@pytest.fixture
def runs(tmp_path):
    """Two runs, of numbers and of pictures, with what the pure part says of a dream of each."""
    pytest.importorskip("gradio")
    pytest.importorskip("selenium")
    if find_browser() is None:
        pytest.skip("there is no chromium with its chromedriver (Debian: chromium-driver)")
    picture = {"length": N_STEPS, "shape": (64, 64, 3), "first": 100}
    configs = {
        "numbers": dreamer_config(env_kwargs={"length": N_STEPS}),
        "pictures": dreamer_config(
            env_id="tests.helpers.envs:Picture-v0", env_kwargs=picture, spec={}
        ),
    }
    studio = Studio(load_policy)
    made = {}
    for name, config in configs.items():  # the page opens with the newest: pictures
        run = make_dreamer_run(tmp_path / "runs", config)
        stored = studio.record(run, config, request_of(run, seed=0))

        def ask(*, run=run, config=config, stored=stored, **wish):
            return studio.dream(run, config, stored, DreamWish(**wish))

        made[name] = (run, ask)
    yield tmp_path / "runs", made
    studio.close()


@pytest.fixture
def page(runs, tmp_path):
    """The address of the page, and by name of the run its id and what answers wishes."""
    runs_dir, made = runs
    inspector = InspectorProcess(runs_dir, working_dir=tmp_path)
    yield inspector.url, {name: (run.id, ask) for name, (run, ask) in made.items()}
    code, out = inspector.end()
    inspector.kill()
    assert (code, out.split()) == (0, ["inspector", "ended"])


def decode(array):
    values = np.frombuffer(base64.b64decode(array["data"]), "<f4")
    return values if array["width"] == 1 else values.reshape(-1, array["width"])


def fact(browser, name):
    return browser.execute_script(
        f"return document.querySelector('.dream-facts [data-fact={name}]').textContent"
    )


def value(browser, expression):
    return browser.execute_script(f"return {PLAYER}.dreams.dream.{expression}")


def take(browser, title, wanted):
    """Take an entry of a list of the panel."""
    browser.execute_script(
        """
        const [title, wanted] = arguments;
        const list = document.querySelector(`.dream select[aria-label='${title}']`);
        list.value = [...list.options].find((option) => option.text === wanted).value;
        list.dispatchEvent(new Event("change"));
        """,
        title,
        wanted,
    )


def begin(browser, step):
    browser.execute_script(f"{PLAYER}.seek({step})")
    button = "document.querySelector('.dream .inspector-button')"
    assert browser.execute_script(f"return {button}.innerText") == f"Dream from step {step}"
    browser.execute_script(f"{button}.click()")
    wait_for(browser, f"{DREAM}?.dream?.step === {step}")


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((part) => part.innerText)"
    return browser.execute_script(script, selector)


def test_dreams_are_shown_as_the_model_has_them(page):
    url, made = page
    with headless_browser(1600, 1000) as browser:
        browser.get(url)
        wait_for(browser, f"Boolean({DREAM})")
        _, ask = made["pictures"]
        begin(browser, 5)
        check_pictures(browser, ask)
        run_id, ask = made["numbers"]
        choose(browser, "run", run_id)
        wait_for(browser, f"{PLAYER}?.value.run === '{run_id}'")
        begin(browser, 4)
        check_numbers(browser, ask)
        check_own_actions(browser, ask)
        check_what_is_drawn(browser)
        assert [entry["message"] for entry in browser.get_log("browser")] == []
        browser.set_window_size(420, 900)
        wait_for(browser, "document.documentElement.scrollWidth <= window.innerWidth")


def check_numbers(browser, ask):
    told = ask(step=4, horizon=50, actions="recorded", draw=None)
    assert value(browser, "n") == N_STEPS - 4
    browser.execute_script(f"{PLAYER}.seek(7)")
    for kind, row in (("seen", 7), ("dreamt", 3)):
        shown = float(fact(browser, f"{kind}-reward"))
        assert shown == pytest.approx(decode(told[kind]["reward"])[row], abs=6e-4)
        drawn = value(browser, f"{kind}.numbers.at({row})")
        assert drawn == pytest.approx(float(decode(told[kind]["numbers"])[row]), rel=1e-4)
    divergence = float(decode(told["seen"]["divergence"])[7])
    assert float(fact(browser, "seen-kl")) == pytest.approx(divergence, abs=6e-4)
    assert fact(browser, "real-reward") == "1"
    assert fact(browser, "real-action") == fact(browser, "dreamt-action") != ""
    browser.execute_script(f"{PLAYER}.seek(2)")  # before the dream
    assert fact(browser, "dreamt-reward") == NOTHING
    titles = texts(browser, ".dream .chart-head b")
    assert titles[0] == "count"
    assert {"Reward", "Value", "KL of seen and expected, nats"} <= set(titles)


def check_own_actions(browser, ask):
    take(browser, "Length of the dream", "15 steps")
    take(browser, "Actions in the dream", "the agent's own actions")
    wait_for(browser, f"{DREAM}.dream?.n === 15")  # beyond the end of the episode
    told = ask(step=4, horizon=15, actions="own", draw=None)
    assert value(browser, "dreamt.action.at(5)") == decode(told["dreamt"]["action"])[5]
    take(browser, "Latents of the dream", "latents drawn, no. 2")
    told = ask(step=4, horizon=15, actions="own", draw=2)
    expected = float(decode(told["dreamt"]["numbers"])[9])
    wait_for(browser, f"Math.abs({DREAM}.dream?.dreamt.numbers.at(9) - {expected}) < 1e-4")


def check_what_is_drawn(browser):
    before = texts(browser, ".dream .chart-head b")
    browser.execute_script("document.querySelector('.dream-numbers button').click()")
    assert texts(browser, ".dream .chart-head b") == before[1:]


def check_pictures(browser, ask):
    wait_for(browser, f"{DREAM}.sheets?.sheets.every(([, sheet]) => sheet.picture.complete)")
    browser.execute_script(f"{PLAYER}.seek(8)")
    assert browser.execute_script(PIXEL, "real") == [108, 108, 108]
    told = ask(step=5, horizon=50, actions="recorded", draw=None)
    for kind in ("seen", "dreamt"):
        assert browser.execute_script(PIXEL, kind) == pixel_of(told["sheets"][kind], 8)
    browser.execute_script(f"{PLAYER}.seek(3)")
    captions = texts(browser, ".dream-large figcaption")
    assert captions == ["Real", "Reconstructed", "Dreamt: not of this step"]


def pixel_of(sheet, step):
    data = base64.b64decode(sheet["image"].partition(",")[2])
    picture = Image.open(io.BytesIO(data)).convert("RGB")
    i = step - sheet["first"]
    x = (i % sheet["per_row"]) * sheet["width"] + sheet["width"] // 2
    y = (i // sheet["per_row"]) * sheet["height"] + sheet["height"] // 2
    return list(picture.getpixel((x, y)))
