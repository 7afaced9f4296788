import gc

import pytest

from utils.lazy_imports import collector_paused


@pytest.fixture(autouse=True)
def restore_collector():
    yield
    gc.unfreeze()
    gc.enable()


def fail_in_pause():
    with collector_paused():
        assert not gc.isenabled()
        raise KeyError


def test_it_is_off_inside_and_on_again_after_an_error():
    with pytest.raises(KeyError):
        fail_in_pause()
    assert gc.isenabled()


def test_what_was_made_inside_is_not_looked_at_again():
    gc.unfreeze()
    with collector_paused():
        kept = [[] for _ in range(100)]
    assert gc.get_freeze_count() >= len(kept)


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    before = gc.get_freeze_count()
    with collector_paused():
        assert not gc.isenabled()
    assert not gc.isenabled()
    assert gc.get_freeze_count() == before
