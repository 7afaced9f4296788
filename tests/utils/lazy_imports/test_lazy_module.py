import importlib
import itertools
import sys
import threading

import pytest

from utils.lazy_imports import LazyModule, PostponedModule, load_now, postpone, postponed_names

_numbers = itertools.count()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a function that writes files of a fresh package, postpones it and imports it."""
    name = f"lazy_sample_{next(_numbers)}"
    monkeypatch.syspath_prepend(tmp_path)

    def make(files, **postponed):
        for file, code in files.items():
            path = tmp_path / name / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(code.replace("SAMPLE", name))
        importlib.invalidate_caches()
        postponed["origins"] = {
            attribute: tuple(f"{name}.{origin}" for origin in origins)
            for attribute, origins in postponed.get("origins", {}).items()
        }
        postpone([PostponedModule(name=name, **postponed)])
        return importlib.import_module(name)

    yield make
    for loaded in [key for key in sys.modules if key.partition(".")[0] == name]:
        del sys.modules[loaded]


def is_lazy(module):
    return type(module) is LazyModule


def test_code_runs_at_the_first_use_and_once(package):
    module = package({"__init__.py": "import itertools\nrun = []\nrun.append(1)\n"})
    assert is_lazy(module)
    assert module.__name__ in postponed_names()
    assert module.run == [1]
    assert not is_lazy(module)
    assert module.__name__ not in postponed_names()
    assert sys.modules[module.__name__] is module
    assert importlib.import_module(module.__name__).run == [1]


def test_a_missing_attribute_is_an_attribute_error(package):
    module = package({"__init__.py": ""})
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = module.nothing_of_the_kind
    assert not is_lazy(module)


def test_importing_it_again_or_from_it_by_stand_in_loads_nothing(package):
    module = package({"__init__.py": "answer = 2"}, stand_ins={"answer": 1})
    scope = {}
    exec(f"import {module.__name__}\nfrom {module.__name__} import answer", scope)
    assert scope["answer"] == 1
    assert is_lazy(module)
    load_now(module)
    assert module.answer == 2


def test_a_stand_in_does_not_outlive_the_module_that_lacks_it(package):
    module = package({"__init__.py": "other = 3"}, stand_ins={"answer": 1})
    assert module.other == 3
    assert not hasattr(module, "answer")


def test_a_submodule_comes_after_its_package_and_once(package):
    code = "import SAMPLE\nSAMPLE.order.append('child')\n"
    module = package(
        {"__init__.py": "order = ['package']\nfrom SAMPLE import child\n", "child.py": code}
    )
    child = importlib.import_module(f"{module.__name__}.child")
    assert module.order == ["package", "child"]
    assert module.child is child
    assert child.__spec__.loader.name == child.__name__  # its own loader, as without laziness


def test_a_submodule_that_the_package_does_not_import(package):
    module = package({"__init__.py": "order = ['package']", "child.py": "value = 5"})
    scope = {}
    exec(f"from {module.__name__}.child import value", scope)
    assert scope["value"] == 5
    assert not is_lazy(module)


def test_a_class_can_be_had_from_where_it_is_defined(package):
    files = {
        "__init__.py": "from SAMPLE.parts import Part\nfrom SAMPLE.slow import other\n",
        "parts.py": "class Part: ...",
        "slow.py": "other = 1",
    }
    module = package(files, origins={"Part": ("parts",)}, free_submodules=("parts",))
    part = module.Part
    assert is_lazy(module)
    assert f"{module.__name__}.slow" not in sys.modules
    assert module.other == 1
    assert module.Part is part


def test_what_is_set_from_outside_survives_the_loading(package):
    module = package({"__init__.py": "level = 1"})
    module.level = 2
    assert module.level == 2
    del module.level
    assert not hasattr(module, "level")


def test_names_are_listed_from_the_loaded_module(package):
    assert "level" in dir(package({"__init__.py": "level = 1"}))


def test_code_that_raises_leaves_it_lazy(package):
    module = package(
        {"__init__.py": "import SAMPLE_switch\nvalue = SAMPLE_switch.value"},
        stand_ins={"answer": 1},
    )
    with pytest.raises(ModuleNotFoundError, match="_switch"):
        _ = module.value
    assert is_lazy(module)
    assert module.answer == 1
    switch = f"{module.__name__}_switch"
    sys.modules[switch] = type(sys)(switch)
    sys.modules[switch].value = 7
    try:
        assert module.value == 7
    finally:
        del sys.modules[switch]


def test_code_that_asks_for_itself_too_early_gets_an_import_error(package):
    module = package({"__init__.py": "from SAMPLE import later\nlater = 1"})
    with pytest.raises(ImportError, match="later"):
        _ = module.later


def test_a_module_may_have_a_getattr_of_its_own(package):
    module = package({"__init__.py": "def __getattr__(name):\n    return name.upper()"})
    assert module.anything == "ANYTHING"


def test_two_threads_load_it_once(package):
    module = package({"__init__.py": "import time\ntime.sleep(0.05)\nvalue = object()"})
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(module.value)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_a_module_that_is_loaded_already_stays_as_it_is():
    import json

    postpone([PostponedModule(name="json")])
    assert importlib.import_module("json") is json
    assert not is_lazy(json)
