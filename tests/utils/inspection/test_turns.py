from utils.inspection.turns import Turns


def test_a_newer_wish_of_the_same_page_makes_older_ones_out_of_date():
    turns = Turns()
    first = turns.take("page")
    beside_it = turns.join("page")
    elsewhere = turns.take("another page")
    assert (first(), beside_it(), elsewhere()) == (True, True, True)
    second = turns.take("page")
    assert (first(), beside_it(), second(), elsewhere()) == (False, False, True, True)


def test_a_page_that_was_closed_is_forgotten():
    turns = Turns()
    turns.take("page")
    turns.forget("page")
    turns.forget("page")
    assert turns._numbers == {}
