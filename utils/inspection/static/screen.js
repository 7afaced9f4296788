// One episode of the page: its films, and the panels that follow the cursor.

import { make } from "./numbers.js";
import { ChoicePanel, FactPanel, NumberPanel, ObservationPanel } from "./panels.js";

const FAR_SECONDS = 0.25;
const SUCCESS = { true: "success", false: "no success", null: "" };

/** A film whose every frame can be asked for; frame t shows state t. */
export class Film {
  constructor(parent, url, fps, size, label) {
    this.fps = fps;
    this.isGone = false;
    this.wanted = null;
    this.video = make("video", "", null, { "aria-label": label });
    Object.assign(this.video, { muted: true, playsInline: true, preload: "auto", src: url });
    if (size) this.video.style.aspectRatio = `${size[0]} / ${size[1]}`;
    parent.append(this.video);
    this.video.addEventListener("seeked", () => {
      // A film that the browser does not draw just now presents no frame.
      if (this.wanted === null) this.note(this.video.currentTime - 0.5 / this.fps);
      this.seekWanted();
    });
    this.video.addEventListener("loadeddata", () => this.seekWanted());
    this.watchFrames();
  }

  /** Keep in `data-frame` which frame is on the screen, and tell `onFrame`. */
  watchFrames() {
    const { video } = this;
    if (!video.requestVideoFrameCallback) {
      video.addEventListener("timeupdate", () => this.note(video.currentTime - 0.5 / this.fps));
      return;
    }
    const next = (now, frame) => {
      if (this.isGone) return;
      this.note(frame.mediaTime);
      video.requestVideoFrameCallback(next);
    };
    video.requestVideoFrameCallback(next);
  }

  note(seconds) {
    const frame = Math.round(seconds * this.fps);
    this.video.dataset.frame = frame;
    this.onFrame?.(frame);
  }

  /** Show a frame; of many wishes in a row the last one counts. */
  seek(frame) {
    this.wanted = (frame + 0.5) / this.fps;
    if (!this.video.seeking && this.video.readyState >= 1) this.seekWanted();
  }

  seekWanted() {
    if (this.wanted === null || this.video.readyState < 1) return;
    const seconds = this.wanted;
    this.wanted = null;
    this.video.currentTime = seconds;
  }

  play(speed) {
    this.wanted = null;
    this.speed = speed;
    this.video.playbackRate = speed;
    this.video.play().catch(() => {}); // it was paused again before it began
  }

  /** While playing: catch up with another film that leads. */
  follow(frame) {
    const seconds = (frame + 0.5) / this.fps;
    const behind = seconds - this.video.currentTime;
    if (this.video.seeking) return;
    if (Math.abs(behind) > FAR_SECONDS * this.speed) {
      this.video.currentTime = seconds;
    } else {
      const hurry = Math.max(-0.3, Math.min(0.3, (4 * behind) / this.speed));
      this.video.playbackRate = this.speed * (1 + hurry);
    }
  }

  pause() {
    this.video.pause();
  }

  destroy() {
    this.isGone = true;
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
  }
}

/** An episode: heading, films, panels. */
export class Screen {
  constructor(parent, episode, value, { letter, range, onToggle }) {
    this.episode = episode;
    this.traces = episode.traces;
    this.films = [];
    this.panels = [];
    this.root = make("section", `screen screen-${letter}`);
    this.root.dataset.letter = letter;
    this.root.append(this.heading());
    const side = make("div", "side");
    if (episode.film || episode.view_film) {
      const stage = make("div", "stage");
      this.root.append(stage);
      this.addFilms(stage, value.fps);
    } else {
      this.root.classList.add("without-film");
    }
    this.root.append(side);
    parent.append(this.root);
    this.panels.push(new FactPanel(side, this.traces));
    const Panel = value.actions.kind === "box" ? NumberPanel : ChoicePanel;
    this.panels.push(new Panel(make2(side), value.actions, this.traces));
    if (value.observation.labels.length) {
      this.observation = new ObservationPanel(
        make2(side), value.observation, this.traces.observation, range, onToggle,
      );
      this.panels.push(this.observation);
    }
    this.side = side;
  }

  get lastState() {
    return this.episode.length;
  }

  heading() {
    const { name, request, length, end, is_success: success, notes } = this.episode;
    const head = make("header");
    const title = make("h3");
    title.append(make("i", "swatch"), make("span", "", name));
    const total = Number(this.episode.return).toLocaleString("en-GB", { maximumFractionDigits: 3 });
    const chips = make("div", "chips");
    chips.append(make("span", "", `return ${total}`), make("span", "", `${length} steps`));
    chips.append(make("span", `end-${end}`, end));
    if (SUCCESS[success]) chips.append(make("span", `success-${success}`, SUCCESS[success]));
    if (!this.episode.film) chips.append(make("span", "", "no pictures"));
    const mode = request.is_deterministic ? "greedy" : "sampled";
    chips.append(make("span", "", `seed ${request.seed}, ${mode}`));
    head.append(title, chips);
    for (const note of notes) head.append(make("p", "inspector-note", note));
    return head;
  }

  addFilms(stage, fps) {
    const { film, frame_size: size, view_film: viewFilm, view, name } = this.episode;
    if (film) this.films.push(new Film(stage, film, fps, size, `frames of ${name}`));
    if (!viewFilm) return;
    const figure = make("figure", "network-view");
    this.films.push(new Film(figure, viewFilm, fps, [view.width, view.height], `network input`));
    const caption = make("figcaption", "", "As the network sees it");
    if (view.titles.length > 1) caption.textContent += `: ${view.titles.join(" | ")}`;
    figure.append(caption);
    stage.append(figure);
  }

  /** Bring the panels to a step; a shorter episode stays at its last state. */
  update(step) {
    const t = Math.min(step, this.lastState);
    this.root.classList.toggle("over", step >= this.lastState);
    for (const panel of this.panels) panel.update(t);
  }

  destroy() {
    this.films.forEach((film) => film.destroy());
    this.root.remove();
  }
}

function make2(parent) {
  const block = make("div", "panel");
  parent.append(block);
  return block;
}
