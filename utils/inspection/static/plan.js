// How an action was planned: the candidates' worth, the elites, and what the plan foresees.

import { AskingPanel } from "./asking.js";
import { LineChart, inks } from "./charts.js";
import { decode, format, make } from "./numbers.js";

const BEFORE = 3; // steps that the charts show before the plan
const FOLLOW_MS = 250;
const ROWS = 8;
const MOST_DIMENSIONS = 12;
const memory = { follows: false };

/** The part of the player that asks how actions were planned and shows it. */
export class PlanPanel extends AskingPanel {
  get look() {
    return "dream plan";
  }

  get title() {
    return "Plan";
  }

  get verb() {
    return "Plan at step";
  }

  get waiting() {
    return "Planning…";
  }

  get isQuiet() {
    return Boolean(this.plan);
  }

  addChoices(bar) {
    this.selectEpisode(bar, "Whose plan", () => this.plan && this.begin(this.step));
    const label = make("label", "plan-follow");
    this.follows = make("input", "", null, { type: "checkbox" });
    this.follows.checked = memory.follows;
    this.follows.addEventListener("change", () => {
      memory.follows = this.follows.checked;
      if (memory.follows) this.begin(this.step);
    });
    label.append(this.follows, make("span", "", "follow the cursor"));
    bar.append(label);
  }

  show(told, index) {
    const stage = this.plan ? this.stage : null;
    this.clear();
    const { length, traces } = this.episodes[index];
    const arrays = {};
    for (const [name, part] of Object.entries(told)) {
      if (part && typeof part === "object" && "data" in part) arrays[name] = decode(part);
    }
    this.plan = { ...told, ...arrays, length, traces };
    this.nShown = this.plan.values.width;
    this.nIterations = this.plan.counts.rows;
    this.stage = stage ?? this.nIterations - 1; // all plans of a run have as many
    this.rank = 0;
    this.explain();
    this.overview = make("div", "charts");
    this.stageHead = make("p", "plan-stage");
    this.table = make("table", "dream-facts plan-elites");
    this.grid = make("div", "charts");
    this.body.append(this.overview, this.stageHead, this.table, this.grid);
    this.draw();
    this.root.dataset.step = told.step;
  }

  clear() {
    this.dropCharts();
    this.body.replaceChildren();
    this.plan = null;
  }

  get names() {
    return this.value.actions.labels;
  }

  explain() {
    const { plan } = this;
    const done = plan.action.slice(0, MOST_DIMENSIONS).map(format).join(", ");
    const steps = `${plan.horizon} step${plan.horizon === 1 ? "" : "s"}`;
    let text = `At step ${plan.step}, ${steps} ahead: ${plan.n_candidates} candidates`;
    if (plan.n_proposals) text += ` (${plan.n_proposals} of them the policy prior's)`;
    text += `, ${this.nIterations} times, the best ${plan.n_elites} ${this.value.plans.elites_are}. `;
    text += `Chosen: ${done}. The plan promises ${format(plan.promised)}`;
    if (plan.tail !== null) {
      const tail = plan.tail * plan.weight.at(plan.horizon);
      text += `: ${format(plan.promised - tail)} in rewards and ${format(tail)} from the value at its end`;
    }
    text += plan.is_done ? "." : ". Something else was done: the action was changed there, or another machine has recorded it.";
    this.tell(text);
  }

  // -- what is drawn --------------------------------------------------------------------------

  draw() {
    this.dropCharts();
    this.drawOverview();
    this.drawTable();
    this.drawSequences();
    this.place();
  }

  add(parent, title, lines, options) {
    this.charts.push(new LineChart(parent, lines, { title, ...options }));
    return this.charts.at(-1);
  }

  /** What candidates and elites were worth, iteration by iteration. */
  drawOverview() {
    const { plan, nIterations: n } = this;
    const ink = inks(this.root);
    const xs = Float32Array.from({ length: n }, (_, i) => i + 1);
    const spread = (k) => plan.spread.column(k);
    const lines = [
      { name: "best", values: plan.values.column(0), xs, colour: ink.b },
      { name: `elites, ${this.value.plans.elites_are}`, values: plan.counts.column(0), xs, colour: ink.a },
      { name: "median candidate", values: spread(2), xs, colour: ink.faint, band: [spread(1), spread(3)] },
    ];
    const hint = "Worth of the candidates that each iteration drew; the band holds the middle half";
    const domain = [n > 1 ? 1 : 0.5, n > 1 ? n : 1.5];
    const pick = (x) => this.choose(Math.round(x) - 1, this.rank);
    const options = { hint, domain, isWhole: true, mark: this.stage + 1, onPick: pick };
    this.add(this.overview, "Worth, by iteration", lines, options).isByIteration = true;
    this.names.slice(0, MOST_DIMENSIONS).forEach((name, a) => {
      const values = Float32Array.from({ length: n }, (_, i) => plan.std.at(i, a));
      this.add(this.overview, `Deviation of ${name} now`, [{ name: "", values, xs, colour: ink.a }], {
        ...options,
        hint: "Of what the next candidates are drawn from: a plan that settles has a small one",
      }).isByIteration = true;
    });
  }

  choose(stage, rank) {
    this.stage = Math.max(0, Math.min(this.nIterations - 1, stage));
    this.rank = Math.max(0, Math.min(this.nShown - 1, rank));
    this.draw();
  }

  /** The elites of the chosen iteration, the best first. */
  drawTable() {
    const { plan, stage, nIterations: n } = this;
    this.stageHead.textContent = `Elites of iteration ${stage + 1} of ${n}`
      + (n > 1 ? " (a click on a chart above chooses another)" : "");
    const line = (cells, kind, title = "") => {
      const row = make("tr", "", null, title ? { title } : {});
      for (const text of cells) row.append(make(kind, "", text));
      return row;
    };
    const names = this.names.slice(0, 4);
    const more = this.names.length > names.length ? ["…"] : [];
    const isProposing = plan.n_proposals > 0;
    const head = ["#", "worth", "weight", ...(isProposing ? ["from"] : []), ...names.map((name) => `${name} now`), ...more];
    this.table.replaceChildren(line(head, "th"));
    for (let rank = 0; rank < Math.min(ROWS, this.nShown); rank++) {
      const sequence = stage * this.nShown + rank;
      const from = plan.proposed.at(stage, rank) ? "the prior" : "drawn";
      const row = line(
        [
          String(rank + 1),
          format(plan.values.at(stage, rank)),
          `${(100 * plan.scores.at(stage, rank)).toFixed(1)} %`,
          ...(isProposing ? [from] : []),
          ...names.map((_, a) => format(plan.elites.at(sequence, a))),
          ...more,
        ],
        "td",
        "Show this sequence",
      );
      row.classList.toggle("chosen", rank === this.rank);
      row.addEventListener("click", () => this.choose(this.stage, rank));
      this.table.append(row);
    }
  }

  /** Values of steps from the plan's first on, NaN elsewhere. */
  spread(read, count) {
    const { plan } = this;
    const values = new Float32Array(Math.max(plan.length, plan.step + count) + 1).fill(NaN);
    for (let h = 0; h < count; h++) values[plan.step + h] = read(h);
    return values;
  }

  /** Sequences of actions over the steps ahead, and the rewards that the plan foresees. */
  drawSequences() {
    const { plan, stage, rank, nShown } = this;
    const ink = inks(this.root);
    const width = this.names.length;
    const { horizon, step } = plan;
    const domain = [Math.max(0, step - BEFORE), step + Math.max(1, horizon - 1)];
    const options = { domain, fits: () => true, isWhole: true, mark: step, onPick: (x) => this.seek(x), height: 150 };
    this.names.slice(0, MOST_DIMENSIONS).forEach((name, a) => {
      const at = (part, row) => this.spread((h) => part.at(row, h * width + a), horizon);
      const around = (sign) =>
        this.spread((h) => plan.mean.at(stage, h * width + a) + sign * plan.std.at(stage, h * width + a), horizon);
      const others = Array.from({ length: nShown }, (_, k) => k).filter((k) => k !== rank);
      const lines = others.map((k) => ({
        name: "", values: at(plan.elites, stage * nShown + k), colour: ink.b, isFaint: true,
      }));
      lines.push(
        { name: "mean", values: at(plan.mean, stage), colour: ink.a, band: [around(-1), around(1)] },
        { name: rank ? `elite ${rank + 1}` : "best elite", values: at(plan.elites, stage * nShown + rank), colour: ink.b },
        { name: "done", values: plan.traces.action.column(a), colour: ink.faint, dash: true },
      );
      this.add(this.grid, `${name}, planned`, lines, {
        ...options,
        hint: "Sequences of actions that the planner holds for good, its mean with the deviation, and what was done",
      });
    });
    const paid = (plan.traces.learner_reward ?? plan.traces.reward).column(0);
    this.add(this.grid, "Reward, foreseen by the final plan", [
      { name: "foreseen", values: this.spread((h) => plan.reward.at(h), horizon), colour: ink.b },
      { name: "paid", values: paid, colour: ink.faint, dash: true },
    ], { ...options, hint: "What the model expects of the plan beside what was paid; both in the learner's units" });
  }

  /** Put the cursor of the charts where that of the player is. */
  place() {
    this.label();
    for (const chart of this.charts) chart.setCursor(chart.isByIteration ? this.stage + 1 : this.step);
  }

  /** Follow the cursor of the player. */
  update(step, isMoving) {
    this.step = step;
    this.place();
    const { from } = this;
    clearTimeout(this.timer);
    if (!memory.follows || isMoving || (this.plan && this.plan.step === from)) return;
    this.timer = setTimeout(() => !this.isGone && this.begin(from), FOLLOW_MS);
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }
}
