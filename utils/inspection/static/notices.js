// What the player says while there is no episode to show, or another one is being recorded.

import { make } from "./numbers.js";

const POLL_MS = 300;

/** What is being recorded, how far it is, and a button that stops it. */
export class Waiting {
  constructor(text, server) {
    this.isBusy = true;
    this.server = server;
    this.root = make("div", "inspector-waiting", null, { role: "status" });
    const words = make("div");
    this.detail = make("span", "inspector-faint");
    words.append(make("b", "", `${text}…`), this.detail);
    this.button = make("button", "waiting-stop", "Stop", { type: "button" });
    this.button.hidden = true;
    this.button.addEventListener("click", () => {
      this.button.disabled = true;
      server.stop(null);
    });
    this.root.append(make("i", "spinner"), words, this.button);
    this.look();
  }

  async look() {
    while (!this.isGone) {
      try {
        this.show(await this.server.progress(null));
      } catch {
        if (this.isGone) return;
        this.detail.textContent = "The inspector does not answer.";
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  show({ what, n_steps: n }) {
    this.button.hidden = n === 0;
    this.detail.textContent = n ? `${what}: ${n.toLocaleString("en-GB")} steps` : what;
  }

  destroy() {
    this.isGone = true;
    this.root.remove();
  }
}

/** Why there is nothing to see. */
export class Message {
  constructor(text) {
    this.root = make("p", "inspector-empty", text, { role: "status" });
  }

  destroy() {
    this.root.remove();
  }
}
