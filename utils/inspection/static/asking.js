// What the parts of the player share that ask the server about a step and show what it says.

import { make } from "./numbers.js";

/** A heading with a button that asks, the line that says how it went, and a body for the answer. */
export class AskingPanel {
  /**
   * value: of the player. episodes: with decoded traces. ask(question) -> answer of the server.
   * seek(step) moves the cursor.
   */
  constructor(parent, value, episodes, { ask, seek }) {
    Object.assign(this, { value, episodes, ask, seek, charts: [], step: 0 });
    this.root = make("section", this.look);
    this.root.append(this.heading());
    this.body = make("div", "dream-body");
    this.root.append(this.body);
    parent.append(this.root);
  }

  // A panel says: look (classes), title, verb and waiting (words), question (what it asks beside
  // the step), isQuiet (its answer stays while it asks again), addChoices(bar), show(told, index)
  // and clear().

  heading() {
    const head = make("header", "dream-head");
    head.append(make("h3", "", this.title));
    const bar = make("div", "dream-bar");
    this.button = make("button", "inspector-button", "", { type: "button" });
    this.button.addEventListener("click", () => this.begin(this.step));
    bar.append(this.button);
    this.addChoices(bar);
    this.note = make("p", "what-if-note", "", { role: "status" });
    head.append(bar, this.note);
    return head;
  }

  /** A list to choose from; act is told the key of what was chosen. */
  select(bar, title, entries, chosen, act) {
    const made = make("select", "", null, { "aria-label": title, title });
    for (const [key, text] of entries) made.append(make("option", "", text, { value: key }));
    made.value = String(chosen);
    made.addEventListener("change", () => act(made.value));
    bar.append(made);
    return made;
  }

  /** A list of the episodes, where there are several. */
  selectEpisode(bar, title, act) {
    if (this.episodes.length < 2) return;
    this.which = this.select(bar, title, this.episodes.map(({ name }, k) => [k, name]), 0, act);
  }

  get index() {
    return Number(this.which?.value ?? 0);
  }

  get episode() {
    return this.episodes[this.index];
  }

  /** The step that is asked for: in the last state nothing is done. */
  get from() {
    return Math.min(this.step, this.episode.length - 1);
  }

  get question() {
    return {};
  }

  get isQuiet() {
    return false;
  }

  /** Ask about a step and show the answer, unless another was asked for meanwhile. */
  async begin(step) {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    const { index, episode } = this;
    const asked = Math.min(step, episode.length - 1);
    if (!this.isQuiet) this.tell(this.waiting);
    this.button.disabled = true;
    try {
      const answer = await this.ask({ run: this.value.run, request: episode.request, step: asked, ...this.question });
      if (this.isGone || turn !== this.turn) return;
      if (answer.error) this.tell(answer.error, true);
      if (answer.value) this.show(answer.value, index);
    } catch (error) {
      if (!this.isGone) this.tell(`The inspector does not answer: ${error.message ?? error}`, true);
    }
    if (turn === this.turn) this.button.disabled = false;
  }

  tell(text, isError = false) {
    this.note.textContent = text;
    this.note.classList.toggle("error", isError);
  }

  /** Say on the button what it asks now. */
  label() {
    const label = `${this.verb} ${this.from}`;
    if (this.button.textContent !== label) this.button.textContent = label;
  }

  dropCharts() {
    this.charts.splice(0).forEach((chart) => chart.destroy());
  }

  destroy() {
    this.isGone = true;
    this.clear();
    this.root.remove();
  }
}
