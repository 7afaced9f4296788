"""A headless browser clicks through the inspector on a trained run, and on one whose pictures say
which step they show."""

from __future__ import annotations

import time

import pytest

from tests.helpers.commands import Command, only_run, settings
from tests.helpers.inspector_process import (
    InspectorProcess,
    find_browser,
    headless_browser,
    requested_urls,
    wait_for,
)
from tests.helpers.played_runs import make_config, make_run
from tests.test_run_play import state_of

PLAYER = "document.querySelector('#player .inspector-mount')?.player"
ROOT = "document.querySelector('#player .inspector')"
EMPTY = "20200101-000000-<i>nobody yet"
N_STEPS = 12  # of an episode of the environment that draws its step

# What the step on the screen is: green is 20 times the step (`DrawingEnv`).
READ_STEP = """
  const video = document.querySelector("#player video");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const g = canvas.getContext("2d");
  g.drawImage(video, 0, 0);
  return Math.round(g.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[1] / 20);
"""
# Seek to steps one after another; how long the page works on each, and how long it takes until its
# frame is on the screen.
SEEK_ALL = """
  const [steps, done] = arguments;
  const player = document.querySelector("#player .inspector-mount").player;
  const video = document.querySelector("#player video");
  const wait = (until) => new Promise((resolve) => {
    const begin = performance.now();
    const look = () =>
      until() || performance.now() - begin > 5000 ? resolve() : requestAnimationFrame(look);
    look();
  });
  (async () => {
    const taken = [];
    for (const step of steps) {
      const begin = performance.now();
      player.seek(step);
      const worked = performance.now() - begin;
      await wait(() => video.dataset.frame === String(step));
      taken.push([worked, performance.now() - begin, Number(video.dataset.frame)]);
    }
    done(taken);
  })();
"""


@pytest.fixture
def page(tmp_path):
    """A trained run of CartPole, the newer one, and one that draws its steps; their inspector."""
    pytest.importorskip("gradio")
    pytest.importorskip("selenium")
    if find_browser() is None:
        pytest.skip("there is no chromium with its chromedriver (Debian: chromium-driver)")
    runs_dir = tmp_path / "my runs"
    config = make_config(
        config_id="Drawing <b>&:ppo", env_kwargs={"length": N_STEPS}, max_episode_steps=50
    )
    drawing = make_run(tmp_path / "elsewhere", config, states=[state_of(config)])
    arguments = [*settings(test_episodes=0, video="none"), "--runs-dir", str(runs_dir)]
    # It may have to compile first.
    trained = Command("train", "-q", "CartPole-v1:ppo_simd", *arguments).wait(300)
    assert trained.code == 0, trained.err
    cart_pole = only_run(runs_dir)
    drawing.path.rename(runs_dir / drawing.id)
    empty = make_run(tmp_path / "nowhere", config, states=())
    empty.path.rename(runs_dir / EMPTY)
    inspector = InspectorProcess(runs_dir, "--run-id", cart_pole.id, working_dir=tmp_path)
    yield inspector.url, drawing.id
    code, out = inspector.end()
    inspector.kill()
    assert (code, out.split()) == (0, ["inspector", "ended"])


def test_clicking_through_the_page(page):
    url, drawing = page
    with headless_browser(1600, 1000) as browser:
        browser.get(url)
        check_first_view(browser)
        check_trace_follows_cursor(browser)
        check_keys(browser)
        check_playing(browser)
        check_comparison(browser)
        check_what_if(browser)
        check_new_episodes(browser)
        check_curves(browser)
        choose(browser, "run", EMPTY)
        wait_for(browser, "document.querySelector('#player .inspector-empty')")
        assert "no checkpoint yet" in text(browser, "#player")
        assert browser.execute_script(f"return {PLAYER} ?? null") is None  # of no other run
        choose(browser, "run", drawing)
        wait_for(browser, f"{PLAYER}?.value.run === '{drawing}'")
        check_frames(browser)
        assert [entry["message"] for entry in browser.get_log("browser")] == []
        asked = {address for address in requested_urls(browser) if address.startswith("http")}
        assert asked
        assert {address for address in asked if not address.startswith(url)} == set()
        check_narrow(browser, url)


def text(browser, selector):
    return browser.execute_script(f"return document.querySelector({selector!r})?.innerText ?? ''")


def fact(browser, name, letter="a"):
    return text(browser, f".screen-{letter} [data-fact={name}]")


def click(browser, selector):
    from selenium.webdriver.common.by import By

    browser.find_element(By.CSS_SELECTOR, selector).click()


def choose(browser, name, wanted):
    """Take the entry of a drop-down list that is a text, or else begins with it."""
    click(browser, f"#{name} input")
    entry = (
        "((texts) => texts.find(([t]) => t === {0}) ?? texts.find(([t]) => t.startsWith({0})))("
        "[...document.querySelectorAll('ul[role=listbox] li')].map((li) =>"
        " [li.innerText.replace('\u2713', '').trim(), li]))?.[1]"
    ).replace("{0}", repr(wanted))
    wait_for(browser, f"Boolean({entry})")
    browser.execute_script(f"return {entry}").click()


def seek(browser, step):
    browser.execute_script(f"{PLAYER}.seek({step})")
    wait_for(browser, f"[...{ROOT}.querySelectorAll('video')].every((v) => !v.seeking)")


def check_first_view(browser):
    # torch is imported and 500 steps are drawn: somebody who waits is told what for.
    wait_for(browser, "document.querySelector('#player .inspector-waiting')")
    wait_for(browser, "/: \\d+ steps/.test(document.querySelector('#player').innerText)")
    wait_for(browser, f"Boolean({PLAYER})")
    assert text(browser, "#summary h1") == "CartPole-v1:ppo_simd"
    row = wait_for(browser, "document.querySelector('#episodes [data-testid=cell-0-0]')?.innerText")
    assert row.strip() == "0"
    cells = [text(browser, f"#episodes [data-testid=cell-0-{k}]").strip() for k in range(5)]
    length = browser.execute_script(f"return {PLAYER}.last")
    assert cells[1:4] == ["greedy", str(length), str(length)]  # one for each step
    assert cells[4].split()[0] in ("terminated", "truncated")
    names = browser.execute_script(
        f"return [...{ROOT}.querySelectorAll('.observation .bar-name')].map((n) => n.innerText)"
    )
    assert names == ["cart position", "cart velocity", "pole angle", "pole angular velocity"]


def check_trace_follows_cursor(browser):
    for step in (3, 40):
        seek(browser, step)
        assert browser.execute_script(f"return {ROOT}.dataset.step") == str(step)
        wait_for(browser, f"{ROOT}.querySelector('video').dataset.frame === '{step}'")
        assert fact(browser, "so_far") == str(step)
        value = browser.execute_script(f"return {PLAYER}.screens[0].traces.value.at({step})")
        assert float(fact(browser, "value")) == pytest.approx(value, abs=1e-3)
        shares = browser.execute_script(
            f"const shares = {PLAYER}.screens[0].traces.action_probabilities;"
            f"return [shares.at({step}, 0), shares.at({step}, 1)];"
        )
        assert sum(shares) == pytest.approx(1.0, abs=1e-5)
        chosen = text(browser, ".screen-a .bar-row.chosen .bar-name")
        assert chosen == ["push left", "push right"][shares.index(max(shares))]


def check_keys(browser):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    seek(browser, 40)
    browser.execute_script("document.activeElement?.blur()")
    expected = {Keys.ARROW_RIGHT: 41, Keys.ARROW_LEFT: 40, Keys.HOME: 0}
    for key, step in expected.items():
        ActionChains(browser).send_keys(key).perform()
        assert browser.execute_script(f"return {PLAYER}.step") == step
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(
        Keys.SHIFT
    ).perform()
    assert browser.execute_script(f"return {PLAYER}.step") == 10
    ActionChains(browser).send_keys(Keys.END).perform()
    assert browser.execute_script(f"return {PLAYER}.step === {PLAYER}.last")
    assert fact(browser, "reward") == "\u2013"  # nothing is paid after the end
    ActionChains(browser).send_keys(Keys.HOME).send_keys(Keys.SPACE).perform()
    wait_for(browser, f"{PLAYER}.step > 3")
    ActionChains(browser).send_keys(Keys.SPACE).perform()
    assert browser.execute_script(f"return {PLAYER}.isPlaying") is False


def check_playing(browser):
    """While a film plays, the cursor is at the frame that is on the screen, at any speed."""
    for speed in (0.5, 4):
        seek(browser, 0)
        browser.execute_script(f"{PLAYER}.setSpeed({speed}); {PLAYER}.play()")
        for _ in range(5):
            time.sleep(0.1)
            frame, step = browser.execute_script(
                f"return [Number({ROOT}.querySelector('video').dataset.frame), {PLAYER}.step]"
            )
            assert frame == step
        assert browser.execute_script(f"return {PLAYER}.step") > 0
        browser.execute_script(f"{PLAYER}.pause()")
    browser.execute_script(f"{PLAYER}.setSpeed(1)")


def check_comparison(browser):
    names = browser.execute_script(f"return {PLAYER}.screens.map((s) => s.episode.name)")
    other = {"epoch=24": "epoch=32", "epoch=32": "epoch=24"}.get(names[0], "epoch=24")
    choose(browser, "other", other)
    wait_for(browser, f"{PLAYER}?.screens.length === 2")
    assert browser.execute_script(f"return {PLAYER}.screens.map((s) => s.episode.name)") == [
        names[0],
        other,
    ]
    seek(browser, 20)
    frames = f"[...{ROOT}.querySelectorAll('video')].map((v) => v.dataset.frame).join()"
    wait_for(browser, f"{frames} === '20,20'")
    requests = browser.execute_script(f"return {PLAYER}.screens.map((s) => s.episode.request.seed)")
    assert requests == [0, 0]
    assert fact(browser, "value", "a") != fact(browser, "value", "b")
    header = wait_for(browser, "document.querySelectorAll('#episodes th')[5]?.innerText.trim()")
    assert header.startswith(other)
    choose(browser, "other", "nobody")
    wait_for(browser, f"{PLAYER}?.screens.length === 1")


def check_what_if(browser):
    seek(browser, 10)
    was = text(browser, ".screen-a .bar-row.chosen .bar-name")
    click(browser, "#player .what-if button")
    wait_for(browser, f"{PLAYER}?.screens.length === 2")
    note = text(browser, "#player .branch-note span")
    other = {"push left": "push right", "push right": "push left"}[was]
    assert note.startswith(f"At step 10 the second takes {other} instead of {was}")
    same, differs = browser.execute_script(
        f"""const [a, b] = {PLAYER}.screens.map((s) => s.traces.observation);
        const equal = (t) => [0, 1, 2, 3].every((k) => a.at(t, k) === b.at(t, k));
        return [Array.from({{ length: 11 }}, (_, t) => equal(t)), equal(11)];"""
    )
    assert (all(same), differs) == (True, False)
    assert text(browser, ".screen-b .bar-row.chosen .bar-name") == other
    click(browser, "#player .branch-note button")
    wait_for(browser, f"{PLAYER}?.screens.length === 1")


def check_new_episodes(browser):
    click(browser, "#mode label:nth-of-type(2)")
    wait_for(browser, "document.querySelector('#mode input:checked')?.value === 'sampled'")
    click(browser, "#play")
    wait_for(
        browser,
        "(document.querySelector('#episodes [data-testid=cell-1-1]')?.innerText ?? '')"
        ".trim() === 'sampled'",
    )
    request = browser.execute_script(f"return {PLAYER}.value.episodes[0].request")
    assert (request["seed"], request["is_deterministic"]) == (1, False)
    click(browser, "#episodes [data-testid=cell-0-0]")
    wait_for(browser, f"{PLAYER}?.value.episodes[0].request.seed === 0")


def check_curves(browser):
    click(browser, "#looking button[role=tab]:nth-of-type(2)")
    wait_for(browser, "document.querySelector('#curves canvas')?.clientWidth")
    titles = browser.execute_script(
        "return [...document.querySelectorAll('#curves .chart-head b')].map((b) => b.innerText)"
    )
    assert "val/roll/ep_rew_mean" in titles
    click(browser, "#looking button[role=tab]:nth-of-type(1)")
    wait_for(browser, f"{ROOT}.offsetParent")


def check_frames(browser):
    """The picture on the screen is that of the step, forwards, backwards and at the end."""
    assert browser.execute_script(f"return {PLAYER}.last") == N_STEPS
    assert "<b>" in text(browser, "#summary h1")  # as text
    steps = [0, 7, 3, N_STEPS, 11, 1, *range(N_STEPS + 1)]
    taken = browser.execute_async_script(SEEK_ALL, steps)
    assert [frame for *_, frame in taken] == steps
    # On an idle machine every step takes less than 50 ms; what else runs here may take its turns.
    worked, painted = (sorted(row[k] for row in taken) for k in (0, 1))
    assert worked[len(worked) // 2] < 50, worked
    assert painted[0] < 50, painted
    for step in (5, 0, N_STEPS):
        seek(browser, step)
        wait_for(browser, f"{ROOT}.querySelector('video').dataset.frame === '{step}'")
        assert browser.execute_script(READ_STEP) == step


def check_narrow(browser, url):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.get(url)
    wait_for(browser, f"Boolean({PLAYER})")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 420
    width = browser.execute_script(f"return {ROOT}.getBoundingClientRect().width")
    assert 300 < width <= 420
