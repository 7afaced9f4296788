// Pictures of a dream: large ones at the cursor, and a strip of all steps around it.

import { make } from "./numbers.js";

const TITLES = { real: "Real", seen: "Reconstructed", dreamt: "Dreamt" };
const MOST_COLUMNS = 16;
const GAP = 3;
const LABEL = 14;

/** Pictures that lie on one sheet, by their step. */
class Sheet {
  constructor(told, onLoad) {
    Object.assign(this, told);
    this.picture = new Image();
    this.picture.addEventListener("load", onLoad);
    this.picture.src = told.image;
  }

  has(step) {
    return step >= this.first && step < this.first + this.n;
  }

  /** Draw one picture; nothing where there is none. */
  draw(g, step, x, y, width, height) {
    if (!this.has(step) || !this.picture.complete) return;
    const i = step - this.first;
    const [column, row] = [i % this.per_row, Math.floor(i / this.per_row)];
    g.imageSmoothingEnabled = false;
    g.drawImage(
      this.picture, column * this.width, row * this.height, this.width, this.height,
      x, y, width, height,
    );
  }
}

export class Sheets {
  /** told: the dream, with `sheets`. seek(step) moves the cursor. */
  constructor(parent, told, seek) {
    this.told = told;
    this.step = told.step;
    const redraw = () => this.draw();
    this.sheets = Object.entries(told.sheets).map(([kind, sheet]) => [kind, new Sheet(sheet, redraw)]);
    const { width, height } = this.sheets[0][1];
    this.root = make("div", "dream-pictures");
    const row = make("div", "dream-large");
    this.large = this.sheets.map(([kind, sheet]) => {
      const figure = make("figure");
      const canvas = make("canvas", "", null, { width, height, role: "img", "aria-label": TITLES[kind] });
      canvas.dataset.kind = kind;
      const caption = make("figcaption", `dream-${kind}`, TITLES[kind]);
      figure.append(canvas, caption);
      row.append(figure);
      return { sheet, canvas, caption, kind };
    });
    this.strip = make("canvas", "dream-strip", null, {
      role: "img", "aria-label": "real, reconstructed and dreamt pictures of the steps around the dream",
    });
    this.strip.addEventListener("pointerdown", (event) => {
      const box = this.strip.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * this.steps.length);
      seek(this.steps[Math.max(0, Math.min(this.steps.length - 1, column))]);
    });
    this.root.append(row, this.strip);
    parent.append(this.root);
    this.observer = new ResizeObserver(redraw);
    this.observer.observe(this.root);
    this.draw();
  }

  /** Steps of the strip: the one before the dream, its first, and others evenly. */
  chooseSteps(n) {
    const { first, step, n: length } = this.told;
    const last = step + length;
    const all = last - first + 1;
    const columns = Math.min(all, n);
    return Array.from({ length: columns }, (_, i) =>
      first + Math.round((i * (all - 1)) / Math.max(1, columns - 1)),
    );
  }

  draw() {
    const width = this.root.clientWidth;
    if (!width) return;
    const [, { width: w, height: h }] = this.sheets[0];
    const columns = Math.max(3, Math.min(MOST_COLUMNS, Math.floor(width / 48)));
    this.steps = this.chooseSteps(columns);
    const ratio = window.devicePixelRatio || 1;
    const cell = width / this.steps.length;
    const tall = ((cell - GAP) * h) / w;
    const total = LABEL + this.sheets.length * (tall + GAP);
    this.strip.style.height = `${total}px`;
    this.strip.width = Math.round(width * ratio);
    this.strip.height = Math.round(total * ratio);
    const g = this.strip.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, total);
    const style = getComputedStyle(this.root);
    g.font = "10px system-ui, sans-serif";
    g.textAlign = "center";
    this.steps.forEach((step, i) => {
      const x = i * cell;
      g.fillStyle = style.getPropertyValue(step === this.step ? "--inspector-text" : "--inspector-faint");
      g.fillText(String(step), x + (cell - GAP) / 2, LABEL - 4);
      this.sheets.forEach(([, sheet], row) => {
        const y = LABEL + row * (tall + GAP);
        g.fillStyle = style.getPropertyValue("--inspector-well");
        g.fillRect(x, y, cell - GAP, tall);
        sheet.draw(g, step, x, y, cell - GAP, tall);
      });
    });
    this.paint();
  }

  /** Show the large pictures of a step. */
  update(step) {
    if (step === this.step) return;
    this.step = step;
    this.draw();
  }

  paint() {
    for (const { sheet, canvas, caption, kind } of this.large) {
      const g = canvas.getContext("2d");
      g.clearRect(0, 0, canvas.width, canvas.height);
      sheet.draw(g, this.step, 0, 0, canvas.width, canvas.height);
      canvas.dataset.step = sheet.has(this.step) ? this.step : "";
      const ahead = this.step - this.told.step;
      caption.textContent = kind === "dreamt" && sheet.has(this.step)
        ? `${TITLES[kind]}, ${ahead} step${ahead === 1 ? "" : "s"} ahead`
        : sheet.has(this.step) ? TITLES[kind] : `${TITLES[kind]}: not of this step`;
    }
  }

  destroy() {
    this.observer.disconnect();
    this.root.remove();
  }
}
