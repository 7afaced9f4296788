import pytest

from utils.inspection.progress import Progress, RecordingStoppedError


def test_what_is_made_and_how_far_it_is():
    progress = Progress()
    assert progress.to_dict() == {"what": "", "n_steps": 0}
    progress.begin("seed 3")
    progress.note_steps(41)
    assert progress.to_dict() == {"what": "seed 3", "n_steps": 41}
    progress.end()
    assert progress.to_dict() == {"what": "", "n_steps": 0}


def test_a_wish_to_stop_ends_what_is_being_made_and_nothing_later():
    progress = Progress()
    progress.begin("seed 3")
    progress.stop()
    with pytest.raises(RecordingStoppedError, match="nothing is kept"):
        progress.note_steps(1)
    progress.begin("seed 4")
    progress.note_steps(1)
