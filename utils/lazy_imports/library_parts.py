"""Which parts of torch, Lightning and the rest are postponed.

Importing Lightning loads torch's compiler, all of torchmetrics and Matplotlib: two thirds of the
time, and nothing of it takes part in a training.
"""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Any

from utils.lazy_imports.dynamo import DYNAMO
from utils.lazy_imports.finder import PostponedModule, postpone

# Parts of torch that nothing else of it needs while it is being imported. Which these are changes
# from version to version, and a mistake is an ImportError, so others than these are left alone.
TESTED_TORCH = ("2.13.",)
_TORCH_PARTS = (
    "torch._export",
    "torch.ao",
    "torch.ao.nn",
    "torch.ao.quantization",
    "torch.distributions",
    "torch.export",
    "torch.masked",
    "torch.nn.intrinsic",
    "torch.nn.qat",
    "torch.nn.quantizable",
    "torch.nn.quantized",
    "torch.quantization",
)


def _plot_single_or_multi_val(*args: Any, **kwargs: Any) -> Any:
    """Load the plots of torchmetrics, and Matplotlib, when one is asked for."""
    import torchmetrics.utilities.plot as plot

    return plot.plot_single_or_multi_val(*args, **kwargs)


# Lightning takes two classes of it, which do without the metrics themselves.
_TORCHMETRICS = PostponedModule(
    name="torchmetrics",
    stand_ins={"_logger": logging.getLogger("torchmetrics")},
    origins={
        "Metric": ("torchmetrics.utilities", "torchmetrics.metric"),
        "MetricCollection": ("torchmetrics.utilities", "torchmetrics.collections"),
        "__version__": ("torchmetrics.__about__",),
    },
    free_submodules=("__about__", "collections", "metric", "utilities"),
)
# Both types stand in annotations only; these are what the module itself takes without Matplotlib.
_TORCHMETRICS_PLOTS = PostponedModule(
    name="torchmetrics.utilities.plot",
    stand_ins={
        "_AX_TYPE": object,
        "_PLOT_OUT_TYPE": tuple[object, object],
        "plot_single_or_multi_val": _plot_single_or_multi_val,
    },
)


# Films are made after the result.
_AV = PostponedModule(name="av")


def postpone_library_parts() -> None:
    """Let torch and Lightning load what a training does not use on first use.

    To be called before either is imported; what is loaded already stays as it is.
    """
    postpone([DYNAMO, _TORCHMETRICS, _TORCHMETRICS_PLOTS, _AV])
    if version("torch").startswith(TESTED_TORCH):
        postpone([PostponedModule(name=name) for name in _TORCH_PARTS])
