// Sequences of actions that the policy might have drawn at a step, and what was done.

import { inks } from "./charts.js";
import { decode, make } from "./numbers.js";
import { PlanPanel } from "./plan.js";

const BEFORE = 3; // steps that the charts show before the step
const MOST_DIMENSIONS = 12;

/** The part of the player that asks for sequences of actions and shows them. */
export class SamplesPanel extends PlanPanel {
  get title() {
    return "Action samples";
  }

  get verb() {
    return "Draw at step";
  }

  get waiting() {
    return "Drawing…";
  }

  show(told, index) {
    this.clear();
    const { length, traces } = this.episodes[index];
    this.plan = { ...told, sequences: decode(told.sequences), length, traces };
    this.explain();
    this.grid = make("div", "charts");
    this.body.append(this.grid);
    this.draw();
    this.root.dataset.step = told.step;
  }

  explain() {
    const { sequences, step, horizon, execution, n_left: left } = this.plan;
    const drawn = left
      ? `The policy drew none here: it still had ${left} action${left === 1 ? "" : "s"} of an earlier one`
      : "The policy drew one here";
    this.tell(
      `${sequences.rows} sequences of ${horizon} actions as the policy might draw them at step ${step}; `
        + `it carries out the first ${execution}. ${drawn}.`,
    );
  }

  draw() {
    this.dropCharts();
    const { plan, names } = this;
    const { sequences, horizon, step, execution } = plan;
    const ink = inks(this.root);
    const domain = [Math.max(0, step - BEFORE), step + Math.max(1, horizon - 1)];
    const options = { domain, fits: () => true, mark: step, onPick: (x) => this.seek(x), height: 180 };
    names.slice(0, MOST_DIMENSIONS).forEach((name, a) => {
      const line = (k, first, stop) =>
        this.spread((h) => (h < first ? NaN : sequences.at(k, h * names.length + a)), stop);
      const all = Array.from({ length: sequences.rows }, (_, k) => k);
      const lines = [
        ...all.map((k) => ({ name: "", values: line(k, execution - 1, horizon), colour: ink.a, isFaint: true })),
        ...all.map((k) => ({
          name: k ? "" : "drawn, to be carried out", values: line(k, 0, execution), colour: ink.b, isFaint: k > 0,
        })),
        { name: "done", values: plan.traces.action.column(a), colour: ink.faint, dash: true },
      ];
      this.add(this.grid, `${name}, drawn`, lines, {
        ...options,
        hint: "One line for each sequence; several bundles are several ways to go on",
      });
    });
    this.update(this.step, true);
  }
}
