from utils.metrics.axis import EPOCHS, TIMESTEPS, UPDATES, choose_axis


def rows(timesteps, updates=None):
    found = [{"epoch": k + 1, "timesteps": n} for k, n in enumerate(timesteps)]
    for row, n in zip(found, updates or (), strict=False):
        row["train/cnt/updates"] = n
    return found


def test_the_first_counter_that_goes_on_is_taken():
    assert choose_axis(rows([10, 20, 30], [0, 0, 0])) == TIMESTEPS
    # Collected once, then learnt from: the updates go on where the timesteps stand still.
    assert choose_axis(rows([10] * 6, [5, 10, 15, 20, 25, 30])) == UPDATES
    # And where the updates stand still too, a search of something else, the epochs.
    assert choose_axis(rows([10] * 6, [5, 10, 10, 10, 10, 10])) == EPOCHS
    assert choose_axis(rows([10] * 6)) == EPOCHS


def test_an_update_and_an_evaluation_after_the_last_timestep_change_nothing():
    assert choose_axis(rows([10, 20, 30, 30, 30])) == TIMESTEPS
    assert choose_axis(rows([10, 20, 30, 30, 30, 30])) == EPOCHS


def test_updates_that_some_rows_do_not_tell_are_no_axis():
    assert choose_axis(rows([10] * 5, [1, 2, 3, 4])) == EPOCHS


def test_without_rows_there_is_an_axis():
    assert choose_axis([]) == TIMESTEPS
