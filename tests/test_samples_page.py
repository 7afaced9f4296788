"""A headless browser draws action samples of Diffusion Policy."""

from __future__ import annotations

import pytest

from tests.helpers.inspector_process import (
    InspectorProcess,
    find_browser,
    headless_browser,
    wait_for,
)
from tests.helpers.played_runs import make_run
from tests.test_run_play import state_of
from tests.utils.inspection.test_samples import EXECUTION, LENGTH, SEEN, config_of
from utils.inspection.sample_wish import N_SEQUENCES

pytest.importorskip("diffusers")
PANEL = "document.querySelector('#player .inspector-mount')?.player?.samples"


def test_sequences_are_drawn_at_the_cursor(tmp_path):
    pytest.importorskip("gradio")
    pytest.importorskip("selenium")
    if find_browser() is None:
        pytest.skip("there is no chromium with its chromedriver (Debian: chromium-driver)")
    config = config_of()
    make_run(tmp_path / "runs", config, states=[state_of(config)])
    inspector = InspectorProcess(tmp_path / "runs", working_dir=tmp_path)
    try:
        with headless_browser(1000, 900) as browser:
            browser.get(inspector.url)
            wait_for(browser, f"Boolean({PANEL})")
            label = browser.execute_script(f"return {PANEL}.button.textContent")
            assert label == "Draw at step 0"
            browser.execute_script(f"{PANEL}.button.click()")
            wait_for(browser, f"{PANEL}.root.dataset.step === '0'")
            told = browser.execute_script(f"return {PANEL}.note.textContent")
            n_ahead = LENGTH - SEEN + 1
            assert told.startswith(f"{N_SEQUENCES} sequences of {n_ahead} actions")
            assert f"carries out the first {EXECUTION}" in told
            assert browser.execute_script(f"return {PANEL}.charts.length") == 1
    finally:
        inspector.kill()
