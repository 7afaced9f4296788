// What stands beside a film: what the policy thinks, what it was paid, what it saw, what if.

import { format, make, percent } from "./numbers.js";

/** Names of all choices in the order of the probabilities, group after group. */
export function choiceNames(actions) {
  return actions.groups.flatMap((group) =>
    group.labels.map((label) => (group.name ? `${group.name} ${label}` : label)),
  );
}

/** Say in words what was done at a step. */
export function actionText(actions, action, t) {
  const values = Array.from({ length: action.width }, (_, k) => action.at(t, k));
  if (actions.kind === "box") return `(${values.map(format).join(", ")})`;
  if (actions.kind === "multi_binary") {
    const chosen = actions.groups[0].labels.filter((_, k) => values[k] === 1);
    return chosen.length ? chosen.join(" and ") : "nothing";
  }
  return actions.groups
    .map(({ name, labels }, k) => (name ? `${name} ${labels[values[k]]}` : labels[values[k]]))
    .join(", ");
}

/** Whether choice i (counted over all groups) is part of the action of step t. */
function isChosen(actions, action, t, i) {
  if (t >= action.rows) return false;
  if (actions.kind === "multi_binary") return action.at(t, i) === 1;
  let first = 0;
  for (let k = 0; k < actions.groups.length; k++) {
    const n = actions.groups[k].labels.length;
    if (i < first + n) return action.at(t, k) === i - first;
    first += n;
  }
  return false;
}

function row(parent, label) {
  const root = make("div", "bar-row");
  const name = make("span", "bar-name", label);
  name.title = label;
  const track = make("span", "bar-track");
  const fill = make("i");
  const reading = make("output");
  track.append(fill);
  root.append(name, track, reading);
  parent.append(root);
  return { root, fill, reading, track };
}

/** Bars of probabilities, or of Q values, with the chosen action marked. */
export class ChoicePanel {
  constructor(parent, actions, traces) {
    this.actions = actions;
    this.traces = traces;
    this.values = traces.action_probabilities ?? traces.q_values;
    this.isShare = Boolean(traces.action_probabilities);
    const titles = { share: "Action probabilities", value: "Action values", none: "Action" };
    const kind = this.isShare ? "share" : this.values ? "value" : "none";
    parent.append(make("h4", "", titles[kind]));
    this.rows = [];
    for (const group of actions.groups) {
      if (group.name) parent.append(make("div", "bar-group", group.name));
      for (const label of group.labels) this.rows.push(row(parent, label));
    }
    const finite = this.values ? this.values.data.filter(Number.isFinite) : [];
    this.low = finite.reduce((a, b) => Math.min(a, b), Infinity);
    this.high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  }

  update(t) {
    this.rows.forEach(({ root, fill, reading }, i) => {
      const x = this.values ? this.values.at(t, i) : NaN;
      const share = this.isShare ? x : (x - this.low) / (this.high - this.low || 1);
      fill.style.width = Number.isFinite(share) ? `${100 * share}%` : "0";
      const mask = this.traces.mask;
      const isOver = t >= this.traces.action.rows;
      const isForbidden = !isOver && mask && mask.at(t, i) === 0;
      root.classList.toggle("forbidden", Boolean(isForbidden));
      root.classList.toggle("chosen", isChosen(this.actions, this.traces.action, t, i));
      const known = this.isShare ? percent(x) : format(x);
      reading.textContent = isForbidden ? "not allowed" : this.values ? known : "";
    });
  }
}

/** Mean, spread and what was done, for each number of a continuous action. */
export class NumberPanel {
  constructor(parent, actions, traces) {
    this.traces = traces;
    const parts = ["action_mean", "action_std"].filter((key) => traces[key]).length;
    parent.append(make("h4", "", ["Action", "Action: mean, chosen", "Action: mean, deviation, chosen"][parts]));
    this.rows = actions.labels.map((label, k) => {
      const parts = row(parent, label);
      parts.root.classList.add("numbers");
      parts.tick = make("b");
      parts.track.append(parts.tick);
      const seen = ["action", "action_mean"].flatMap((key) =>
        traces[key] ? [...traces[key].column(k)] : [],
      ).filter(Number.isFinite);
      parts.low = actions.low[k] ?? seen.reduce((a, b) => Math.min(a, b), 0);
      parts.high = actions.high[k] ?? seen.reduce((a, b) => Math.max(a, b), 0);
      return parts;
    });
  }

  update(t) {
    const { action, action_mean: mean, action_std: std } = this.traces;
    this.rows.forEach(({ fill, reading, tick, low, high }, k) => {
      const place = (x) => 100 * Math.min(1, Math.max(0, (x - low) / (high - low || 1)));
      const chosen = action.at(t, k);
      const centre = mean ? mean.at(t, k) : NaN;
      const spread = std ? std.at(t, k) : 0;
      const left = place(centre - spread);
      fill.style.left = Number.isFinite(centre) ? `${left}%` : "0";
      fill.style.width = Number.isFinite(centre)
        ? `${Math.max(0.8, place(centre + spread) - left)}%`
        : "0";
      tick.style.left = `${place(chosen)}%`;
      tick.hidden = !Number.isFinite(chosen);
      const thought = std ? `${format(centre)} ± ${format(spread)}` : format(centre);
      reading.textContent = mean ? `${thought} → ${format(chosen)}` : format(chosen);
    });
  }
}

const FACTS = [
  ["Value", "value", "What the critic expects from here on, discounted, as the learner is paid"],
  ["Promise", "promise", "What the plan promises until its horizon, as the learner is paid"],
  ["Advantage", "advantage", "How much better the chosen action did than the critic expected"],
  ["Reward", "reward", "What the environment pays for this step"],
  ["Return", "so_far", "Sum of the rewards before this step"],
  ["Learner's reward", "learner_reward", "The same reward after wrappers and normalisation"],
  ["Entropy", "entropy", "How undecided the policy is, in nats"],
];

/** Single numbers of the step. */
export class FactPanel {
  constructor(parent, traces) {
    this.traces = traces;
    const grid = make("dl", "facts");
    this.items = FACTS.filter(([, key]) => traces[key]).map(([label, key, hint]) => {
      const cell = make("div");
      cell.title = hint;
      const reading = make("dd");
      reading.dataset.fact = key;
      cell.append(make("dt", "", label), reading);
      grid.append(cell);
      return { key, reading };
    });
    parent.append(grid);
  }

  update(t) {
    for (const { key, reading } of this.items) {
      reading.textContent = format(this.traces[key].at(t));
    }
  }
}

/** The numbers that the policy sees, by their names. */
export class ObservationPanel {
  constructor(parent, about, observation, range, onToggle) {
    this.about = about;
    this.observation = observation;
    parent.append(make("h4", "", "Observation"));
    if (about.description) parent.append(make("p", "inspector-faint", about.description));
    const list = make("div", "observation");
    this.rows = about.labels.map((label, k) => {
      const parts = row(list, label);
      parts.root.title = "Click to draw it, or not, in the chart below";
      parts.root.addEventListener("click", () => onToggle(k));
      [parts.low, parts.high] = range(k);
      return parts;
    });
    parent.append(list);
    if (about.n_left_out) {
      parent.append(make("p", "inspector-faint", `and ${about.n_left_out} more numbers`));
    }
  }

  update(t) {
    const names = this.about.value_labels;
    this.rows.forEach(({ fill, reading, low, high }, k) => {
      const x = this.observation.at(t, k);
      const place = (y) => 100 * Math.min(1, Math.max(0, (y - low) / (high - low || 1)));
      const ends = [place(0), place(x)].sort((a, b) => a - b);
      fill.style.left = `${ends[0]}%`;
      fill.style.width = `${Math.max(0.8, ends[1] - ends[0])}%`;
      const name = names[x];
      reading.textContent = name === undefined ? format(x) : `${format(x)} · ${name}`;
    });
  }

  mark(chosen) {
    this.rows.forEach(({ root }, k) => root.classList.toggle("drawn", chosen.has(k)));
  }
}

/** Lets a person choose another action at the cursor. */
export class WhatIfPanel {
  constructor(parent, actions, traces, onAsk) {
    this.actions = actions;
    this.traces = traces;
    this.step = 0;
    const root = make("form", "what-if");
    root.noValidate = true; // the server says what is wrong
    root.append(make("h4", "", "What if another action were taken here?"));
    this.fields = make("div", "what-if-fields");
    this.inputs = actions.kind === "box" ? this.numberInputs() : this.choiceInputs();
    this.button = make("button", "inspector-button", "Watch what follows", { type: "submit" });
    this.note = make("p", "what-if-note", "", { role: "status" });
    root.append(this.fields, this.button, this.note);
    root.addEventListener("submit", (event) => {
      event.preventDefault();
      const action = this.inputs.map((input) =>
        Number(input.type === "checkbox" ? input.checked : input.value),
      );
      const isSame = action.every((x, k) => Math.abs(x - traces.action.at(this.step, k)) < 1e-4);
      if (isSame) this.tell("That is what was done here; choose something else.");
      else onAsk(action);
    });
    parent.append(root);
  }

  field(label, input) {
    const wrap = make("label", "", label);
    wrap.append(input);
    this.fields.append(wrap);
    return input;
  }

  numberInputs() {
    return this.actions.labels.map((label, k) => {
      const input = make("input", "", null, { type: "number", step: "any", required: "" });
      const [low, high] = [this.actions.low[k], this.actions.high[k]];
      if (low !== null) input.min = low;
      if (high !== null) input.max = high;
      return this.field(label, input);
    });
  }

  choiceInputs() {
    const { kind, groups } = this.actions;
    if (kind === "multi_binary") {
      return groups[0].labels.map((label) => this.field(label, make("input", "", null, { type: "checkbox" })));
    }
    return groups.map((group, k) => {
      const select = make("select", "", null, { "aria-label": group.name || "action" });
      group.labels.forEach((label, i) => select.append(make("option", "", label, { value: i })));
      return this.field(group.name, select);
    });
  }

  /** Offer something else than what was done at the step; say so where nothing can be asked. */
  update(t) {
    const { action, mask } = this.traces;
    const isOver = t >= action.rows;
    if (t !== this.step && !this.isBusy) this.tell("");
    this.step = t;
    this.button.disabled = isOver || Boolean(this.isBusy);
    if (isOver) return;
    let first = 0;
    let flips = true; // the first bit that may be another
    this.inputs.forEach((input, k) => {
      const done = action.at(t, k);
      if (input.tagName === "SELECT") {
        const options = [...input.options];
        options.forEach((option, i) => {
          option.disabled = Boolean(mask) && mask.at(t, first + i) === 0;
        });
        const another = options.findIndex((option, i) => i !== done && !option.disabled);
        input.value = String(another < 0 ? done : another);
        first += options.length;
      } else if (input.type === "checkbox") {
        input.disabled = Boolean(mask) && mask.at(t, k) === 0;
        const isAnother = flips && !input.disabled;
        input.checked = (done === 1) !== isAnother;
        flips &&= !isAnother;
      } else if (document.activeElement !== input) {
        const low = this.actions.low[k] ?? -Infinity;
        const high = this.actions.high[k] ?? Infinity;
        input.value = String(Math.round(Math.min(high, Math.max(low, done)) * 1e4) / 1e4);
      }
    });
  }

  /** Show that the answer is being played, or why there is none. */
  tell(text, { isBusy = false, isError = false } = {}) {
    this.isBusy = isBusy;
    this.button.disabled = isBusy;
    this.note.textContent = text;
    this.note.classList.toggle("error", isError);
  }
}
