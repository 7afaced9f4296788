// Imagination beside reality: what the world model made of the episode, and a dream from a step on.

import { AskingPanel } from "./asking.js";
import { LineChart, inks } from "./charts.js";
import { decode, format, make, percent } from "./numbers.js";
import { actionText } from "./panels.js";
import { Sheets } from "./sheets.js";

const HORIZONS = [5, 15, 50, 100, 200];
const DRAWS = [1, 2, 3, 4, 5];
const FIRST_NUMBERS = 4;
const MOST_CHARTS = 12;
const KINDS = ["real", "seen", "dreamt"];
const NAMES = { real: "real", seen: "reconstructed", dreamt: "dreamt" };
const LOSSES = { picture: "pictures", vector: "numbers", choice: "choices" };
const memory = {
  horizon: 50, actions: "recorded", draw: "", reach: "dream", drawn: null, drawnFor: "",
};

/** The part of the player that asks for dreams and shows them under its cursor. */
export class DreamPanel extends AskingPanel {
  get look() {
    return "dream";
  }

  get title() {
    return "Imagination";
  }

  get verb() {
    return "Dream from step";
  }

  get waiting() {
    return "Dreaming…";
  }

  get question() {
    const { horizon, actions, draw } = memory;
    return { horizon, actions, draw: draw === "" ? null : Number(draw) };
  }

  addChoices(bar) {
    const { most } = this.value.dreams;
    const again = () => this.dream && this.begin(this.dream.step);
    const choice = (title, entries, key, read = String) =>
      this.select(bar, title, entries, memory[key], (chosen) => {
        memory[key] = read(chosen);
        again();
      });
    this.selectEpisode(bar, "Whose episode", again);
    const horizons = HORIZONS.filter((n) => n <= most).map((n) => [n, `${n} steps`]);
    choice("Length of the dream", horizons, "horizon", Number);
    choice("Actions in the dream", [["recorded", "recorded actions"], ["own", "the agent's own actions"]], "actions");
    const draws = [["", "likeliest latents"], ...DRAWS.map((n) => [n, `latents drawn, no. ${n}`])];
    choice("Latents of the dream", draws, "draw");
    const reaches = [["dream", "charts around the dream"], ["episode", "charts as below"]];
    this.select(bar, "Steps in the charts of the dream", reaches, memory.reach, (key) => {
      memory.reach = key;
      if (this.dream) this.update(this.step, this.playerDomain);
    });
  }

  show(told, index) {
    this.clear();
    const { length, traces } = this.episodes[index];
    const read = (part) =>
      Object.fromEntries(Object.entries(part).map(([name, array]) => [name, decode(array)]));
    this.dream = { ...told, index, length, traces };
    for (const kind of KINDS) this.dream[kind] = read(told[kind]);
    this.dream.missed = Object.fromEntries(
      Object.entries(told.missed).map(([name, pair]) => [name, read(pair)]),
    );
    this.facts = this.buildFacts();
    if (told.sheets) this.sheets = new Sheets(this.body, told, this.seek);
    if (told.labels.length) this.buildChoice();
    this.grid = make("div", "charts");
    this.body.append(this.grid);
    this.buildCharts();
    this.update(this.step, this.playerDomain);
    this.root.dataset.step = told.step;
  }

  clear() {
    this.dropCharts();
    this.sheets?.destroy();
    this.sheets = null;
    this.body.replaceChildren();
    this.dream = null;
  }

  // -- numbers at the cursor ----------------------------------------------------------------

  buildFacts() {
    const { dream } = this;
    const table = make("table", "dream-facts");
    const head = make("tr");
    head.append(make("th"));
    for (const kind of KINDS) head.append(make("th", `dream-${kind}`, kind));
    table.append(head);
    const cells = [];
    const add = (title, hint, text) => {
      const line = make("tr", "", null, { title: hint });
      line.append(make("th", "", title));
      const row = KINDS.map((kind) => {
        const cell = make("td", `dream-${kind}`);
        cell.dataset.fact = `${kind}-${title.toLowerCase().replaceAll(" ", "-")}`;
        line.append(cell);
        return { cell, text: text[kind] };
      });
      cells.push(...row);
      table.append(line);
    };
    const at = (kind, name, write = format) => (t) => write(this.at(kind, name, t));
    add("Reward", "Of the step at the cursor, in the learner's units", {
      real: at("real", "reward"), seen: at("seen", "reward"), dreamt: at("dreamt", "reward"),
    });
    if (dream.seen.goes_on) {
      const isDiscounted = dream.goes_on_goal < 1;
      const hint = "Probability that the episode is not over in this state"
        + (isDiscounted ? `, times the discount of ${format(dream.goes_on_goal)}` : "");
      add("Goes on", hint, {
        real: at("real", "goes_on", percent), seen: at("seen", "goes_on", percent),
        dreamt: at("dreamt", "goes_on", percent),
      });
    }
    if (dream.seen.value) {
      add("Value", "What the critic expects from this state on", {
        real: () => "", seen: at("seen", "value"), dreamt: at("dreamt", "value"),
      });
    }
    add("KL", "Nats between what was expected of this state and what was seen in it", {
      real: () => "", seen: at("seen", "divergence"), dreamt: () => "",
    });
    const { actions } = this.value;
    add("Action", "What is done in this state", {
      real: (t) => (t < dream.length ? actionText(actions, dream.traces.action, t) : "–"),
      seen: () => "",
      dreamt: (t) => this.actionAt(t),
    });
    this.body.append(table);
    return cells;
  }

  /** Row t of what is known of a kind; a dream's rows count from its first step. */
  at(kind, name, t) {
    const { dream } = this;
    return dream[kind][name]?.at(kind === "dreamt" ? t - dream.step : t) ?? NaN;
  }

  actionAt(t) {
    const { dream } = this;
    if (t < dream.step || t >= dream.step + dream.n) return "–";
    const { actions } = this.value;
    if (!dream.is_own) return actionText(actions, dream.traces.action, t);
    return actionText(actions, dream.dreamt.action, t - dream.step);
  }

  /** The first step at which the agent does something else in the dream than was done. */
  get parting() {
    const { dream } = this;
    if (!dream.is_own) return null;
    const { action } = dream.traces;
    for (let t = dream.step; t < Math.min(dream.length, dream.step + dream.n); t++) {
      for (let k = 0; k < action.width; k++) {
        if (Math.abs(action.at(t, k) - dream.dreamt.action.at(t - dream.step, k)) > 1e-4) return t;
      }
    }
    return null;
  }

  // -- charts -------------------------------------------------------------------------------

  /** Buttons that say which numbers are drawn. */
  buildChoice() {
    const { labels, n_left_out: nLeftOut } = this.dream;
    const key = labels.join("\n");
    if (memory.drawnFor !== key) {
      memory.drawn = new Set(labels.slice(0, FIRST_NUMBERS).map((_, k) => k));
      memory.drawnFor = key;
    }
    const row = make("div", "dream-numbers", null, { role: "group", "aria-label": "numbers that are drawn" });
    labels.forEach((label, k) => {
      const button = make("button", "", label, { type: "button", "aria-pressed": memory.drawn.has(k) });
      button.addEventListener("click", () => {
        if (!memory.drawn.delete(k)) memory.drawn.add(k);
        button.setAttribute("aria-pressed", memory.drawn.has(k));
        this.buildCharts();
        this.update(this.step, this.playerDomain);
      });
      row.append(button);
    });
    if (nLeftOut) row.append(make("span", "inspector-faint", `and ${nLeftOut} more`));
    this.body.append(row);
  }

  /** Values of each state or step from 0 on, NaN where there is none. */
  spread(array, first, k = 0) {
    const { length, step, n } = this.dream;
    const values = new Float32Array(Math.max(length, step + n) + 1).fill(NaN);
    if (array) values.set(array.column(k), first);
    return values;
  }

  lines(name, k = 0) {
    const { dream } = this;
    const ink = inks(this.root);
    const colours = { real: ink.faint, seen: ink.a, dreamt: ink.b };
    return KINDS.filter((kind) => dream[kind][name]).map((kind) => ({
      name: NAMES[kind],
      values: this.spread(dream[kind][name], kind === "dreamt" ? dream.step : 0, k),
      colour: colours[kind],
      dash: kind === "dreamt",
    }));
  }

  buildCharts() {
    this.dropCharts();
    const { dream } = this;
    const parting = this.parting;
    const marks = parting === null ? [] : [{ x: parting, name: "other action" }];
    const add = (title, lines, options = {}) => {
      if (!lines.length) return;
      this.charts.push(
        new LineChart(this.grid, lines, {
          title, domain: this.domain, fits: () => memory.reach === "dream", mark: dream.step, marks, onPick: (x) => this.seek(x), ...options,
        }),
      );
    };
    const drawn = [...(memory.drawn ?? [])].sort((a, b) => a - b).slice(0, MOST_CHARTS);
    for (const k of drawn) {
      if (k < dream.labels.length) add(dream.labels[k], this.lines("numbers", k));
    }
    const ink = inks(this.root);
    add("KL of seen and expected, nats", [
      { name: "", values: this.spread(dream.seen.divergence, 0), colour: ink.a },
    ]);
    add("Reward", this.lines("reward"));
    add(dream.goes_on_goal < 1 ? "Goes on, times the discount" : "Goes on", dream.seen.goes_on ? this.lines("goes_on") : [], { range: [-0.05, 1.05] });
    add("Value", this.lines("value"));
    for (const [name, pair] of Object.entries(dream.missed)) {
      add(`Error of ${LOSSES[name] ?? name}, as the decoder is trained`, [
        { name: NAMES.seen, values: this.spread(pair.seen, dream.first), colour: ink.a },
        { name: NAMES.dreamt, values: this.spread(pair.dreamt, dream.step), colour: ink.b, dash: true },
      ]);
    }
    this.explain(parting);
  }

  explain(parting) {
    const { step, n, is_own: isOwn } = this.dream;
    let text = `Dreamt from step ${step} on, ${n} step${n === 1 ? "" : "s"}: nothing that came later was seen.`;
    if (isOwn && parting !== null) text += ` From step ${parting} on the agent does something else than was done, so what was real no longer compares.`;
    if (isOwn && parting === null) text += " The agent does what was done.";
    this.tell(text);
  }

  /** The stretch of steps that the charts show, the cursor always in it. */
  get domain() {
    const { first, step, n } = this.dream;
    if (memory.reach === "episode") return this.playerDomain;
    return [Math.min(first, this.step), Math.max(step + n, this.step)];
  }

  /** Follow the cursor of the player, whose charts show a stretch of steps. */
  update(step, domain) {
    this.step = step;
    this.playerDomain = domain;
    this.label();
    if (!this.dream) return;
    for (const { cell, text } of this.facts) {
      const written = text(step);
      if (cell.textContent !== written) cell.textContent = written;
    }
    for (const chart of this.charts) {
      chart.setDomain(this.domain);
      chart.setCursor(step);
    }
    this.sheets?.update(step);
  }
}
