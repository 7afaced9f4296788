"""Parts of libraries that are loaded when something of them is first used, not when imported."""

from utils.lazy_imports.finder import PostponedModule, postpone, postponed_names
from utils.lazy_imports.lazy_module import LazyModule, load_now
from utils.lazy_imports.library_parts import postpone_library_parts

__all__ = [
    "LazyModule",
    "PostponedModule",
    "load_now",
    "postpone",
    "postpone_library_parts",
    "postponed_names",
]
