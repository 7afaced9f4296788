"""Every case in a process of its own: what is loaded once stays loaded."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# What a training on the CPU has no use for, and what each costs at the start.
UNUSED = ("torch._dynamo.eval_frame", "torchmetrics.functional", "matplotlib")
UNUSED_BY_US = ("av.container",)
PRELUDE = "from utils.lazy_imports import postpone_library_parts\npostpone_library_parts()\n"


def run(code, *, with_postponing=True):
    """Run code in a fresh process; return what it printed, read as JSON."""
    process = subprocess.run(
        [sys.executable, "-c", (PRELUDE if with_postponing else "") + textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout.splitlines()[-1])


def test_a_training_loads_nothing_that_it_does_not_use(tmp_path):
    loaded = run(
        f"""
        import json, sys
        import train
        sys.argv = ["train.py", "CartPole-v1:ppo", "-q", "--runs-dir", {str(tmp_path)!r},
            "--max-timesteps", "512", "--set", "video=none"]
        import agents.training
        # The report draws curves after the result, with Matplotlib.
        agents.training.write_report = lambda *args, **kwargs: None
        assert train.main() == 0
        print(json.dumps(sorted(sys.modules)))
        """
    )
    found = [name for name in UNUSED + UNUSED_BY_US if name in loaded]
    assert not found, (
        f"training CartPole imported {found}, which cost a second and take no part in it; "
        "`python -X importtime train.py ...` shows who asked for them"
    )


def test_without_postponing_lightning_loads_them():
    loaded = run(
        "import json, sys, lightning.pytorch\nprint(json.dumps(sorted(sys.modules)))",
        with_postponing=False,
    )
    assert set(UNUSED) <= set(loaded)


def test_the_metrics_are_there_when_they_are_used():
    same, accuracy, can_plot = run(
        """
        import json, sys
        import lightning.pytorch as pl
        from lightning.pytorch.core.module import Metric
        assert "torchmetrics.functional" not in sys.modules
        import torch, torchmetrics
        from torchmetrics.classification import BinaryAccuracy
        metric = BinaryAccuracy()
        metric.update(torch.tensor([1, 0, 1]), torch.tensor([1, 0, 0]))
        figure, _ = metric.plot()
        same = torchmetrics.Metric is Metric and isinstance(metric, Metric)
        is_figure = type(figure).__module__ == "matplotlib.figure"
        print(json.dumps([same, float(metric.compute()), is_figure]))
        """
    )
    assert same
    assert accuracy == pytest.approx(2 / 3)
    assert can_plot


def test_the_compiler_takes_over_from_its_stand_ins():
    facts = run(
        """
        import json, sys
        import torch
        from lightning.fabric.wrappers import OptimizedModule
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
        net(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        facts = {"early": "torch._dynamo.eval_frame" in sys.modules,
                 "plain": isinstance(net, OptimizedModule)}
        hidden = torch.compiler.disable(lambda x: torch.compiler.is_compiling())
        facts["disabled"] = hidden(1)
        seen = []
        compiled = torch.compile(net, backend=lambda graph, inputs: seen.append(1) or graph.forward)
        compiled(torch.ones(3, 2)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        facts["compiled"] = isinstance(compiled, OptimizedModule)
        facts["plain_after"] = isinstance(net, OptimizedModule)
        facts["graphs"] = len(seen)
        whole = torch.compile(lambda x: hidden(x), backend="eager")
        facts["disabled_after"] = whole(torch.ones(1))
        print(json.dumps(facts))
        """
    )
    assert facts == {
        "early": False,
        "plain": False,
        "disabled": False,
        "compiled": True,
        "plain_after": False,
        "graphs": 1,
        "disabled_after": False,
    }


def test_the_other_parts_of_torch_are_there_when_they_are_used():
    facts = run(
        """
        import json
        import torch
        from utils.lazy_imports import postponed_names
        before = postponed_names()
        normal = torch.distributions.Normal(0.0, 1.0)
        facts = [float(normal.cdf(torch.tensor(0.0)))]
        program = torch.export.export(torch.nn.Linear(2, 1), (torch.ones(3, 2),))
        facts.append(list(program.module()(torch.ones(4 - 1, 2)).shape))
        facts.append(torch.ao.quantization.default_qconfig is not None)
        facts.append(torch.nn.quantized.Linear.__name__)
        masked = torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))
        facts.append(masked.sum().item())
        assert "torch.export" in before or not torch.__version__.startswith("2.13"), before
        print(json.dumps(facts))
        """
    )
    assert facts == [0.5, [3, 1], True, "Linear", 1.0]
