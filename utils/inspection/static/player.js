// The player: one cursor for films, panels and charts of one or two episodes.

import { LineChart, inks } from "./charts.js";
import { DreamPanel } from "./dream.js";
import { PlanPanel } from "./plan.js";
import { SamplesPanel } from "./samples.js";
import { Message, Waiting } from "./notices.js";
import { decode, make, rangeOf } from "./numbers.js";
import { WhatIfPanel, actionText, choiceNames } from "./panels.js";
import { Screen } from "./screen.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const PALETTE = ["#2563eb", "#e4572e", "#16a34a", "#a855f7", "#0891b2", "#d97706", "#db2777", "#65a30d"];
const MOST_LINES = 12;
const FIRST_OBSERVATION_LINES = 4;
const WINDOWS = [0, 400, 200, 100, 50, 20];
const ICONS = {
  first: "M3 2h2v12H3zM14 2v12L6 8z",
  back: "M12 2v12L4 8z",
  play: "M4 2v12l9-6z",
  pause: "M4 2h3v12H4zM9 2h3v12H9z",
  forward: "M4 2v12l8-6z",
  last: "M11 2h2v12h-2zM2 2v12l8-6z",
};
const memory = { speed: 1, window: 0, drawn: new Set(), drawnFor: null };

export function start({ element, props, watch, server }) {
  const mount = element.querySelector(".inspector-mount");
  let player = null;
  let notice = null;
  let chosen = null; // what the server has sent, which a "what if" goes back to
  const clear = () => {
    player?.destroy();
    player = null;
    mount.replaceChildren();
    mount.player = null;
  };
  const tell = (made, keeps) => {
    notice = made;
    if (!keeps) clear();
    mount.classList.toggle("waiting", Boolean(made?.isBusy && player));
    if (made) mount.prepend(made.root);
  };
  const receive = (value) => {
    notice?.destroy();
    if (!value) tell(new Waiting("Opening the run", server), false);
    else if (value.busy) tell(new Waiting(value.busy, server), value.keeps);
    else if (value.episodes) {
      tell(null, true);
      chosen = value;
      show(value);
    } else tell(value.message ? new Message(value.message) : null, value.keeps);
  };
  const show = (value, step = 0) => {
    clear();
    const ask = async (question) => {
      const answer = await server.what_if(question);
      if (answer.value) show(answer.value, question.step);
      return answer;
    };
    const back = value === chosen ? null : (at) => show(chosen, at);
    player = new Player(mount, value, {
      ask, dream: server.dream, plan: server.plan, sample: server.sample, back, step,
    });
    mount.player = player;
  };
  watch("value", () => receive(props.value));
  document.addEventListener("keydown", (event) => player?.onKey(event));
  receive(props.value);
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.append(document.createElementNS("http://www.w3.org/2000/svg", "path"));
  svg.firstChild.setAttribute("d", ICONS[name]);
  return svg;
}

function prepare(value) {
  const episodes = value.episodes.map((episode) => {
    const traces = {};
    for (const [name, array] of Object.entries(episode.traces)) traces[name] = decode(array);
    traces.so_far = sumBefore(traces.reward);
    return { ...episode, traces };
  });
  return { ...value, episodes };
}

/** Rewards before each state, (T + 1,). */
function sumBefore(reward) {
  const data = new Float32Array(reward.rows + 1);
  let total = 0;
  for (let t = 0; t < reward.rows; t++) {
    total += reward.data[t];
    data[t + 1] = total;
  }
  return { data, width: 1, rows: data.length, at: (t) => data[t] ?? NaN, column: () => data };
}

class Player {
  constructor(mount, value, { ask, dream, plan, sample, back, step }) {
    this.value = prepare(value);
    this.ask = ask;
    this.step = step;
    this.isPlaying = false;
    this.charts = [];
    this.root = make("div", "inspector");
    mount.append(this.root);
    const { episodes } = this.value;
    this.last = Math.max(...episodes.map((episode) => episode.length));
    this.root.classList.toggle("two", episodes.length > 1);
    this.buildScreens(back);
    this.buildBar();
    if (this.value.plans) {
      this.plans = new PlanPanel(this.root, this.value, episodes, {
        ask: plan,
        seek: (x) => this.seek(x),
      });
    }
    if (this.value.samples) {
      this.samples = new SamplesPanel(this.root, this.value, episodes, {
        ask: sample,
        seek: (x) => this.seek(x),
      });
    }
    if (this.value.dreams) {
      this.dreams = new DreamPanel(this.root, this.value, episodes, {
        ask: dream,
        seek: (x) => this.seek(x),
      });
    }
    this.chartGrid = make("div", "charts");
    this.root.append(this.chartGrid);
    this.buildCharts();
    this.seek(step);
  }

  buildScreens(back) {
    const { episodes, run, branch_step: branch } = this.value;
    const row = make("div", "screens");
    this.root.append(row);
    const ranges = new Map();
    const range = (k) => {
      if (!ranges.has(k)) {
        ranges.set(k, rangeOf(episodes.map((episode) => episode.traces.observation.column(k))));
      }
      return ranges.get(k);
    };
    this.screens = episodes.map(
      (episode, i) =>
        new Screen(row, episode, this.value, {
          letter: "ab"[i],
          range,
          onToggle: (k) => this.toggleObservation(k),
        }),
    );
    const first = this.screens[0];
    const block = make("div", "panel");
    first.side.append(block);
    this.whatIf = new WhatIfPanel(block, this.value.actions, first.traces, (action) =>
      this.askWhatIf({ run, request: { ...first.episode.request }, step: this.step, action }),
    );
    if (back) {
      const note = make("div", "branch-note");
      const [was, is] = episodes.map(({ traces }) =>
        actionText(this.value.actions, traces.action, branch),
      );
      note.append(make("span", "", `At step ${branch} the second takes ${is} instead of ${was}; before, both are the same.`));
      const button = make("button", "inspector-button plain", "Back to the episode", { type: "button" });
      button.addEventListener("click", () => back(Math.min(this.step, first.lastState)));
      note.append(button);
      this.root.prepend(note);
    }
  }

  async askWhatIf(question) {
    this.pause();
    this.whatIf.tell("Playing…", { isBusy: true });
    try {
      const answer = await this.ask(question);
      if (answer.error) this.whatIf.tell(answer.error, { isError: true });
    } catch (error) {
      this.whatIf.tell(`The inspector does not answer: ${error.message ?? error}`, { isError: true });
    }
  }

  buildBar() {
    const bar = make("div", "bar");
    const button = (name, title, action) => {
      const made = make("button", name, null, { type: "button", title, "aria-label": title });
      made.append(icon(name));
      made.addEventListener("click", action);
      bar.append(made);
      return made;
    };
    button("first", "First step (Home)", () => this.seek(0));
    button("back", "Step back (left arrow)", () => this.seek(this.step - 1));
    this.playButton = button("play", "Play or pause (space)", () => this.toggle());
    button("forward", "Step forward (right arrow)", () => this.seek(this.step + 1));
    button("last", "Last step (End)", () => this.seek(this.last));
    this.slider = make("input", "", null, {
      type: "range", min: 0, max: this.last, value: 0, "aria-label": "step",
    });
    this.slider.addEventListener("input", () => this.seek(Number(this.slider.value)));
    this.reading = make("output", "step");
    const select = (name, values, label, chosen, action) => {
      const made = make("select", "", null, { "aria-label": name, title: name });
      for (const x of values) made.append(make("option", "", label(x), { value: x }));
      made.value = String(chosen);
      made.addEventListener("change", () => action(Number(made.value)));
      return made;
    };
    const speed = select("Speed", SPEEDS, (x) => `${x}×`, memory.speed, (x) => this.setSpeed(x));
    const windows = WINDOWS.filter((x) => x < this.last);
    const span = select(
      "Steps in the charts", windows, (x) => (x ? `${x} steps` : "all steps"),
      windows.includes(memory.window) ? memory.window : 0, (x) => this.setWindow(x),
    );
    bar.append(this.slider, this.reading, speed, span);
    this.root.append(bar);
  }

  /** The stretch of steps that the charts show: all, or some around the cursor. */
  get domain() {
    const size = memory.window;
    if (!size || size >= this.last) return [0, this.last];
    const first = Math.max(0, Math.min(this.last - size, this.step - size / 2));
    return [first, first + size];
  }

  setWindow(size) {
    memory.window = size;
    this.show(this.step);
  }

  // -- the cursor ---------------------------------------------------------------------------

  get films() {
    return this.screens.flatMap((screen) => screen.films.map((film) => ({ film, screen })));
  }

  /** Pause and show one step, the very frames of it included. */
  seek(step) {
    this.pause();
    this.show(step);
    for (const { film, screen } of this.films) film.seek(Math.min(this.step, screen.lastState));
  }

  /** Bring everything but the films to a step. */
  show(step) {
    this.step = Math.max(0, Math.min(this.last, Math.round(step)));
    this.root.dataset.step = this.step;
    this.slider.value = this.step;
    this.reading.textContent = `${this.step} / ${this.last}`;
    for (const screen of this.screens) screen.update(this.step);
    const domain = this.domain;
    for (const chart of this.charts) {
      chart.setDomain(domain);
      chart.setCursor(this.step);
    }
    this.plans?.update(this.step, this.isPlaying);
    this.samples?.update(this.step, this.isPlaying);
    this.dreams?.update(this.step, domain);
    if (!this.isPlaying) this.whatIf.update(Math.min(this.step, this.screens[0].lastState + 1));
  }

  toggle() {
    if (this.isPlaying) this.seek(this.step);
    else this.play();
  }

  play() {
    if (this.step >= this.last) this.seek(0);
    this.isPlaying = true;
    this.root.classList.add("playing");
    this.playButton.replaceChildren(icon("pause"));
    const leader = this.films.find(({ screen }) => screen.lastState === this.last);
    if (leader) this.playFilms(leader.film);
    else this.playNumbers();
  }

  playFilms(leader) {
    leader.onFrame = (frame) => {
      if (!this.isPlaying) return;
      this.show(frame);
      for (const { film, screen } of this.films) {
        if (film !== leader) this.keepUp(film, Math.min(frame, screen.lastState), screen);
      }
      if (frame >= this.last) this.seek(this.last);
    };
    leader.video.onended = () => this.isPlaying && this.seek(this.last);
    for (const { film, screen } of this.films) {
      if (this.step < screen.lastState) film.play(memory.speed);
    }
  }

  keepUp(film, frame, screen) {
    if (frame < screen.lastState) {
      film.follow(frame);
    } else if (!film.video.paused || film.video.dataset.frame !== String(frame)) {
      film.pause();
      film.seek(frame);
    }
  }

  playNumbers() {
    const begin = performance.now();
    const first = this.step;
    const speed = memory.speed;
    const tick = (now) => {
      if (!this.isPlaying || this.isGone) return;
      const step = first + Math.floor(((now - begin) / 1000) * this.value.fps * speed);
      if (step !== this.step) this.show(step);
      if (step >= this.last) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  pause() {
    const wasPlaying = this.isPlaying;
    this.isPlaying = false;
    this.root.classList.remove("playing");
    this.playButton.replaceChildren(icon("play"));
    for (const { film } of this.films) film.pause();
    if (wasPlaying) this.show(this.step);
  }

  setSpeed(speed) {
    memory.speed = speed;
    if (!this.isPlaying) return;
    this.pause();
    this.play();
  }

  onKey(event) {
    const isTyping = event.target.closest?.("input:not([type=range]), textarea, select, [contenteditable=true], [role=grid], [role=listbox]");
    const isHidden = this.root.offsetParent === null;
    if (isTyping || isHidden || event.ctrlKey || event.metaKey || event.altKey) return;
    const size = event.shiftKey ? 10 : 1;
    const keys = {
      ArrowLeft: () => this.seek(this.step - size),
      ArrowRight: () => this.seek(this.step + size),
      Home: () => this.seek(0),
      End: () => this.seek(this.last),
      " ": () => this.toggle(),
    };
    const act = keys[event.key];
    const isButton = event.key === " " && event.target.closest?.("button, [role=tab]");
    if (!act || isButton) return;
    event.preventDefault();
    act();
  }

  // -- charts -------------------------------------------------------------------------------

  buildCharts() {
    const add = (lines, options) => {
      if (!lines.length) return;
      this.charts.push(
        new LineChart(this.chartGrid, lines, {
          domain: this.domain,
          mark: this.value.branch_step,
          onPick: (x) => this.seek(x),
          ...options,
        }),
      );
    };
    this.screens.forEach((screen, i) => add(...this.actionChart(screen, i)));
    for (const [key, title] of [
      ["value", "Value"], ["promise", "Promise of the plan"], ["advantage", "Advantage"], ["reward", "Reward"],
      ["so_far", "Return so far"], ["learner_reward", "Learner's reward"], ["entropy", "Entropy"],
    ]) {
      add(this.oneLineEach(key), { title });
    }
    this.addObservationCharts(add);
  }

  nameOf(screen) {
    return this.screens.length > 1 ? screen.episode.name : "";
  }

  oneLineEach(key) {
    const ink = inks(this.root);
    return this.screens
      .filter((screen) => screen.traces[key])
      .map((screen) => ({
        name: this.nameOf(screen),
        values: screen.traces[key].data,
        colour: ink[screen.root.dataset.letter],
      }));
  }

  actionChart(screen) {
    const { traces } = screen;
    const suffix = this.screens.length > 1 ? `, ${screen.episode.name}` : "";
    const shares = traces.action_probabilities ?? traces.q_values;
    if (this.value.actions.kind !== "box") {
      if (!shares) return [[], {}];
      const names = choiceNames(this.value.actions).slice(0, MOST_LINES);
      const lines = names.map((name, k) => ({
        name, values: shares.column(k), colour: PALETTE[k % PALETTE.length], dash: k >= PALETTE.length,
      }));
      const isShare = Boolean(traces.action_probabilities);
      const title = (isShare ? "Action probabilities" : "Action values") + suffix;
      return [lines, { title, range: isShare ? [-0.02, 1.02] : undefined }];
    }
    const lines = this.value.actions.labels.slice(0, MOST_LINES).map((name, k) => {
      const mean = (traces.action_mean ?? traces.action).column(k);
      const line = { name, values: mean, colour: PALETTE[k % PALETTE.length], dash: k >= PALETTE.length };
      if (traces.action_std) {
        const std = traces.action_std.column(k);
        line.band = [mean.map((x, t) => x - std[t]), mean.map((x, t) => x + std[t])];
      }
      return line;
    });
    const title = traces.action_std ? "Action: mean and deviation" : "Action";
    return [lines, { title: title + suffix }];
  }

  addObservationCharts(add) {
    const { labels } = this.value.observation;
    const key = labels.join("\n");
    if (memory.drawnFor !== key) {
      const n = Math.min(labels.length, FIRST_OBSERVATION_LINES);
      memory.drawn = new Set(Array.from({ length: n }, (_, k) => k));
      memory.drawnFor = key;
    }
    for (const screen of this.screens) {
      const suffix = this.screens.length > 1 ? `, ${screen.episode.name}` : "";
      const lines = [...memory.drawn].sort((a, b) => a - b).slice(0, MOST_LINES).map((k) => ({
        name: labels[k],
        values: screen.traces.observation.column(k),
        colour: PALETTE[k % PALETTE.length],
      }));
      add(lines, { title: `Observation${suffix}` });
      screen.observation?.mark(memory.drawn);
    }
  }

  toggleObservation(k) {
    if (!memory.drawn.delete(k)) memory.drawn.add(k);
    this.charts.splice(0).forEach((chart) => chart.destroy());
    this.buildCharts();
    for (const chart of this.charts) chart.setCursor(this.step);
  }

  destroy() {
    this.isGone = true;
    this.pause();
    this.charts.forEach((chart) => chart.destroy());
    this.plans?.destroy();
    this.samples?.destroy();
    this.dreams?.destroy();
    this.screens.forEach((screen) => screen.destroy());
    this.root.remove();
  }
}
