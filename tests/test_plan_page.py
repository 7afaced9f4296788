"""A headless browser shows how an action was planned, as the pure part says it."""

from __future__ import annotations

import numpy as np
import pytest

from agents.loading import load_policy
from tests.helpers.dreamer_runs import make_dreamer_run
from tests.helpers.inspector_process import (
    InspectorProcess,
    find_browser,
    headless_browser,
    wait_for,
)
from tests.utils.inspection.test_plans import N_ITERATIONS, E, config_of, decode
from tests.utils.inspection.test_studio import request_of
from utils.inspection.plan_wish import PlanWish
from utils.inspection.studio import Studio

PLAYER = "document.querySelector('#player .inspector-mount')?.player"
PLAN = f"{PLAYER}?.plans?.plan"


@pytest.fixture
def page(tmp_path):
    """The address of a page of a TD-MPC run, and what answers wishes about its first episode."""
    pytest.importorskip("gradio")
    pytest.importorskip("selenium")
    if find_browser() is None:
        pytest.skip("there is no chromium with its chromedriver (Debian: chromium-driver)")
    config = config_of("tdmpc")
    run, studio = make_dreamer_run(tmp_path / "runs", config), Studio(load_policy)
    stored = studio.record(run, config, request_of(run, seed=0))

    def ask(step):
        return studio.plan(run, config, stored, PlanWish(step=step))

    inspector = InspectorProcess(tmp_path / "runs", working_dir=tmp_path)
    yield inspector.url, ask
    studio.close()
    code, out = inspector.end()
    inspector.kill()
    assert (code, out.split()) == (0, ["inspector", "ended"])


def rows(browser):
    return browser.execute_script(
        "return [...document.querySelectorAll('.plan-elites tr:has(td)')].map((row) =>"
        " [...row.querySelectorAll('td')].map((cell) => cell.innerText))"
    )


def test_plans_are_shown_as_they_were_made(page):
    url, ask = page
    with headless_browser(1500, 1600) as browser:
        browser.get(url)
        wait_for(browser, f"Boolean({PLAYER})")
        browser.execute_script(f"{PLAYER}.seek(3)")
        browser.execute_script("document.querySelector('.plan .inspector-button').click()")
        wait_for(browser, f"{PLAN}?.step === 3")
        told = ask(3)
        text = browser.execute_script(
            "return document.querySelector('.plan [role=status]').innerText"
        )
        assert text.startswith(
            "At step 3, 3 steps ahead: 16 candidates (3 of them the policy prior's)"
        )
        assert text.endswith("from the value at its end.")
        shown = rows(browser)
        values, proposed = decode(told["values"])[-1], decode(told["proposed"])[-1]
        assert len(shown) == E
        assert [float(row[1].replace(",", "")) for row in shown] == pytest.approx(
            [float(f"{value:.3f}") for value in values], abs=2e-3
        )
        assert [row[3] for row in shown] == [
            "the prior" if is_proposed else "drawn" for is_proposed in proposed
        ]
        check_scale(browser)
        check_choices(browser, told)
        check_following(browser)
        severe = [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]
        assert severe == []


def check_scale(browser):
    """What lies outside of the steps that a chart shows does not press its lines flat."""
    before, after, domain = browser.execute_script(f"""
      const chart = {PLAYER}.plans.charts.at(-1);
      const before = chart.toY(0);
      const {{ values }} = chart.lines.at(-1);
      chart.lines.at(-1).values = Float32Array.of(...values, ...Array(20).fill(NaN), 1e6);
      chart.draw();
      return [before, chart.toY(0), chart.options.domain];
    """)
    assert domain[1] < 20
    assert after == before


def check_choices(browser, told):
    """Another iteration and another elite are shown where a person asks for them."""
    browser.execute_script(f"{PLAYER}.plans.choose(0, 1)")
    head = browser.execute_script("return document.querySelector('.plan-stage').innerText")
    assert head.startswith(f"Elites of iteration 1 of {N_ITERATIONS}")
    chosen = browser.execute_script(
        "return [...document.querySelectorAll('.plan-elites tr')].findIndex((row) =>"
        " row.classList.contains('chosen'))"
    )
    assert chosen == 2  # under the heading
    drawn = browser.execute_script(
        f"return [...{PLAYER}.plans.charts.find((c) => c.options.title === 'torque, planned')"
        ".lines.find((line) => line.name === 'elite 2').values].slice(3, 6)"
    )
    elites = decode(told["elites"]).reshape(N_ITERATIONS, E, -1)
    np.testing.assert_allclose(drawn, elites[0, 1], rtol=1e-5)


def check_following(browser):
    browser.execute_script("document.querySelector('.plan-follow input').click()")
    browser.execute_script(f"{PLAYER}.seek(5)")
    wait_for(browser, f"{PLAN}?.step === 5")
    browser.execute_script(f"{PLAYER}.seek(6)")  # the last state, in which nothing is planned
    button = "document.querySelector('.plan .inspector-button')"
    assert browser.execute_script(f"return {button}.innerText") == "Plan at step 5"
