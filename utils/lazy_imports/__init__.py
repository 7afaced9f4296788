"""Fast imports: parts of libraries load on first use, and no garbage is looked for meanwhile."""

from utils.lazy_imports.collector_pause import collector_paused
from utils.lazy_imports.finder import PostponedModule, postpone, postponed_names
from utils.lazy_imports.lazy_module import LazyModule, load_now
from utils.lazy_imports.library_parts import postpone_library_parts

__all__ = [
    "LazyModule",
    "PostponedModule",
    "collector_paused",
    "load_now",
    "postpone",
    "postpone_library_parts",
    "postponed_names",
]
