// Line charts on a canvas with a cursor that moves without drawing the lines again.

import { format, formatTick, make, rangeOf, stretch, ticks } from "./numbers.js";

const PAD = { left: 46, right: 10, top: 8, bottom: 18 };

/** Colours of the page's theme, which may be light or dark. */
export function inks(element) {
  const style = getComputedStyle(element);
  const read = (name) => style.getPropertyValue(`--inspector-${name}`).trim();
  return Object.fromEntries(
    ["grid", "faint", "mark", "cursor", "a", "b"].map((name) => [name, read(name)]),
  );
}

/** Index of the last x at or before a position; -1 before the first. */
function indexAt(xs, position) {
  let low = 0;
  let high = xs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= position) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * One chart: a heading with the values at the cursor, and lines.
 *
 * lines: [{ name, values, xs?, colour, dash?, band?, isFaint? }], xs are 0, 1, 2, ... where left
 *   out; faint lines stand behind the others and have no value in the heading.
 * options: title, hint, domain [x0, x1], range [y0, y1] (else of the values), fits() (else of all
 *   values, not only those in the domain; lines without xs), mark (an x),
 *   marks [{ x, name }], isWhole (x are whole numbers), onPick(x), follows (the cursor is where the pointer is), height.
 */
export class LineChart {
  constructor(parent, lines, options) {
    this.lines = lines;
    this.options = options;
    this.cursor = null;
    this.root = make("figure", "chart");
    const head = make("figcaption", "chart-head");
    head.append(make("b", "", options.title));
    if (options.hint) head.title = options.hint;
    this.readings = lines.map((line) => {
      if (line.isFaint) return null;
      const item = make("span", "chart-key");
      const swatch = make("i");
      swatch.style.background = line.colour;
      if (line.dash) swatch.classList.add("dashed");
      const reading = make("output");
      item.append(swatch, make("span", "", line.name), reading);
      head.append(item);
      return reading;
    });
    this.canvas = make("canvas", "", null, { role: "img", "aria-label": options.title });
    this.canvas.style.height = `${options.height ?? 120}px`;
    this.root.append(head, this.canvas);
    parent.append(this.root);
    this.layer = document.createElement("canvas");
    this.listen();
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
  }

  destroy() {
    this.observer.disconnect();
    this.root.remove();
  }

  listen() {
    const at = (event) => {
      const box = this.canvas.getBoundingClientRect();
      const share = (event.clientX - box.left - PAD.left) / (box.width - PAD.left - PAD.right);
      const [x0, x1] = this.options.domain;
      return Math.min(x1, Math.max(x0, x0 + share * (x1 - x0)));
    };
    const { onPick, follows } = this.options;
    if (onPick) {
      this.canvas.classList.add("pickable");
      this.canvas.addEventListener("pointerdown", (event) => {
        this.canvas.setPointerCapture(event.pointerId);
        onPick(at(event));
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (event.buttons & 1) onPick(at(event));
      });
    }
    if (follows) {
      this.canvas.addEventListener("pointermove", (event) => this.setCursor(at(event)));
      this.canvas.addEventListener("pointerleave", () => this.setCursor(null));
    }
  }

  valueAt(line, position) {
    if (position === null) return line.values.length ? line.values[line.values.length - 1] : NaN;
    if (!line.xs) return line.values[Math.round(position)];
    const index = indexAt(line.xs, position);
    return index < 0 ? NaN : line.values[index];
  }

  setCursor(position) {
    this.cursor = position;
    this.lines.forEach((line, i) => {
      if (line.isFaint) return;
      const text = format(this.valueAt(line, position));
      if (this.readings[i].textContent !== text) this.readings[i].textContent = text;
    });
    this.paint();
  }

  /** Show another stretch of x. */
  setDomain(domain) {
    const [x0, x1] = this.options.domain;
    if (domain[0] === x0 && domain[1] === x1) return;
    this.options.domain = domain;
    this.draw();
  }

  /** Draw grid and lines into the layer that stays. */
  draw() {
    const ratio = window.devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    for (const canvas of [this.canvas, this.layer]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.inks = inks(this.root);
    const g = this.layer.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    const bands = this.lines.flatMap((line) => line.band ?? []);
    const all = [...this.lines.map((line) => line.values), ...bands];
    const { range, fits, domain } = this.options;
    const [y0, y1] = range ?? rangeOf(fits?.() ? all.map((values) => stretch(values, domain)) : all);
    const [x0, x1] = domain;
    const [w, h] = [width - PAD.left - PAD.right, height - PAD.top - PAD.bottom];
    this.toX = (x) => PAD.left + (x1 > x0 ? ((x - x0) / (x1 - x0)) * w : 0);
    this.toY = (y) => PAD.top + (1 - (y - y0) / (y1 - y0)) * h;
    this.drawGrid(g, width, height, [x0, x1], [y0, y1]);
    g.save();
    g.beginPath();
    g.rect(PAD.left, PAD.top - 2, w + 1, h + 4);
    g.clip();
    for (const line of this.lines) this.drawLine(g, line);
    g.restore();
    this.setCursor(this.cursor);
  }

  drawGrid(g, width, height, [x0, x1], [y0, y1]) {
    g.font = "11px system-ui, sans-serif";
    g.lineWidth = 1;
    g.fillStyle = this.inks.faint;
    g.textAlign = "right";
    g.textBaseline = "middle";
    const heights = ticks(y0, y1, 3);
    for (const y of heights) {
      g.strokeStyle = this.inks.grid;
      g.beginPath();
      g.moveTo(PAD.left, this.toY(y));
      g.lineTo(width - PAD.right, this.toY(y));
      g.stroke();
      g.fillText(formatTick(Math.abs(y) < 1e-12 ? 0 : y, heights[1] - heights[0]), PAD.left - 6, this.toY(y));
    }
    g.textBaseline = "alphabetic";
    g.textAlign = "center";
    for (const x of ticks(x0, x1, Math.max(2, Math.floor(width / 110)))) {
      if (this.options.isWhole && !Number.isInteger(x)) continue;
      const label = formatTick(x);
      const half = g.measureText(label).width / 2;
      g.fillText(label, Math.min(this.toX(x), width - half - 1), height - 4);
    }
    for (const mark of this.options.marks ?? []) this.drawMark(g, mark.x, height, [3, 4]);
    const mark = this.options.mark ?? null;
    if (mark !== null) this.drawMark(g, mark, height, [5, 3]);
  }

  drawMark(g, x, height, dash) {
    g.save();
    g.strokeStyle = this.inks.mark;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(this.toX(x), PAD.top);
    g.lineTo(this.toX(x), height - PAD.bottom);
    g.stroke();
    g.restore();
  }

  drawLine(g, line) {
    const xs = line.xs;
    const x = (i) => this.toX(xs ? xs[i] : i);
    if (line.band) {
      const [low, high] = line.band;
      g.fillStyle = line.colour;
      g.globalAlpha = 0.15;
      g.beginPath();
      const n = low.length;
      for (let i = 0; i < n; i++) if (Number.isFinite(high[i])) g.lineTo(x(i), this.toY(high[i]));
      for (let i = n - 1; i >= 0; i--) {
        if (Number.isFinite(low[i])) g.lineTo(x(i), this.toY(low[i]));
      }
      g.fill();
      g.globalAlpha = 1;
    }
    g.strokeStyle = line.colour;
    g.globalAlpha = line.isFaint ? 0.25 : 1;
    const [x0, x1] = this.options.domain;
    const isDense = !xs && x1 - x0 > this.canvas.clientWidth / 3;
    g.lineWidth = isDense ? 0.8 : 1.6;
    g.lineJoin = "round";
    g.setLineDash(line.dash ? [5, 4] : []);
    this.isCounted = !xs;
    g.beginPath();
    this.trace(g, line.values, x);
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
    if (line.values.length === 1 && Number.isFinite(line.values[0])) {
      this.dot(g, x(0), this.toY(line.values[0]), line.colour);
    }
  }

  /** Go along the values; of those that share a column of pixels only the extremes. */
  trace(g, values, x) {
    let isDown = false;
    const n = values.length;
    const width = Math.abs(x(Math.max(0, n - 1)) - x(0)) || 1;
    const size = Math.max(1, Math.floor(n / (2 * width)));
    const begin = this.isCounted ? Math.max(0, Math.floor(this.options.domain[0]) - 1) : 0;
    const end = this.isCounted ? Math.min(n, Math.ceil(this.options.domain[1]) + 2) : n;
    for (let first = begin; first < end; first += size) {
      let low = first;
      let high = first;
      for (let i = first; i < Math.min(n, first + size); i++) {
        if (values[i] < values[low]) low = i;
        if (values[i] > values[high]) high = i;
      }
      for (const i of low < high ? [low, high] : low > high ? [high, low] : [low]) {
        if (!Number.isFinite(values[i])) {
          isDown = false;
        } else if (isDown) {
          g.lineTo(x(i), this.toY(values[i]));
        } else {
          g.moveTo(x(i), this.toY(values[i]));
          isDown = true;
        }
      }
    }
  }

  dot(g, x, y, fill) {
    g.fillStyle = fill;
    g.beginPath();
    g.arc(x, y, 3.2, 0, 7);
    g.fill();
  }

  /** Put the layer and the cursor on the screen. */
  paint() {
    if (!this.toX) return;
    const g = this.canvas.getContext("2d");
    const ratio = this.canvas.width / this.canvas.clientWidth || 1;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.layer, 0, 0);
    if (this.cursor === null) return;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const x = this.toX(this.cursor);
    g.strokeStyle = this.inks.cursor;
    g.lineWidth = 1.2;
    g.beginPath();
    g.moveTo(x, PAD.top - 4);
    g.lineTo(x, this.canvas.clientHeight - PAD.bottom + 2);
    g.stroke();
    for (const line of this.lines) {
      if (line.isFaint) continue;
      const y = this.valueAt(line, this.cursor);
      if (Number.isFinite(y)) this.dot(g, x, this.toY(y), line.colour);
    }
  }
}
