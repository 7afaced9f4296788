import pytest

from utils.config.layers import Layers, Place

FILE, LINE = Place("file:1", 0), Place("--set", 3)


def layers(data):
    made = Layers()
    made.merge(data, lambda _: FILE)
    return made


def test_mappings_merge_and_all_else_is_replaced():
    made = layers({"net": {"dims": [64, 64], "activation": "tanh"}, "n": 1})
    made.merge({"net": {"dims": [32]}, "m": 2}, lambda _: LINE)
    assert made.data == {"net": {"dims": [32], "activation": "tanh"}, "n": 1, "m": 2}
    assert made.find_place(("net", "dims")) == LINE
    assert made.find_place(("net", "dims", "0")) == LINE
    assert made.find_place(("net", "dims", "1")) == LINE, "the old entry has gone"
    assert made.find_place(("net", "activation")) == FILE
    assert made.layer_of("net.dims") == 3
    assert made.layer_of("n") == 0
    assert made.layer_of("absent") is None


def test_setting_one_nested_key_leaves_its_siblings():
    made = layers({"net": {"dims": [64], "activation": "tanh"}})
    made.set(("net", "activation"), "relu", LINE)
    assert made.data == {"net": {"dims": [64], "activation": "relu"}}
    assert made.find_place(("net", "dims")) == FILE


def test_setting_makes_the_mappings_on_its_way():
    made = layers({"n": 1})
    made.set(("a", "b", "c"), 2, LINE)
    made.set(("n", "x"), 3, LINE)
    assert made.data == {"a": {"b": {"c": 2}}, "n": {"x": 3}}
    assert made.find_place(("n",)) == LINE


def test_entries_of_lists_are_set_by_number():
    made = layers({"wrappers": [{"id": "A", "scale": 1}, {"id": "B"}]})
    made.set(("wrappers", "0", "scale"), 2, LINE)
    assert made.data == {"wrappers": [{"id": "A", "scale": 2}, {"id": "B"}]}
    for missing in ("2", "-1", "id"):
        with pytest.raises(LookupError, match=f"2 entries and no entry '{missing}'"):
            made.set(("wrappers", missing), {}, LINE)


def test_layers_do_not_share_values_with_what_they_were_given():
    given = {"net": {"dims": [64]}}
    made = layers(given)
    made.set(("net", "dims", "0"), 1, LINE)
    assert given == {"net": {"dims": [64]}}
