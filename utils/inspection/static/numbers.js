// Arrays as the server sends them, and numbers as people read them.

/** Decode rows of little-endian float32; at(t, k) is NaN outside. */
export function decode(array) {
  const bytes = Uint8Array.from(atob(array.data), (c) => c.charCodeAt(0));
  const data = new Float32Array(bytes.buffer);
  const width = array.width;
  const rows = width ? data.length / width : 0;
  return {
    data,
    width,
    rows,
    at: (t, k = 0) => (t >= 0 && t < rows ? data[t * width + k] : NaN),
    column(k) {
      if (width === 1) return data;
      const values = new Float32Array(rows);
      for (let t = 0; t < rows; t++) values[t] = data[t * width + k];
      return values;
    },
  };
}

/** Write a number in about four digits; a dash where there is none. */
export function format(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-3) return x.toExponential(2).replace("e+", "e");
  if (Number.isInteger(x)) return x.toLocaleString("en-GB");
  return x.toFixed(size >= 1000 ? 1 : size >= 100 ? 2 : 3);
}

/** Write a round position of an axis whose positions are a step apart, so that they differ. */
export function formatTick(x, step) {
  if (Math.abs(x) >= 1e4) return `${String(+(x / 1000).toPrecision(6))}k`;
  const digits = step > 0 && x ? Math.ceil(Math.log10(Math.abs(x) / step)) + 1 : 0;
  return String(+x.toPrecision(Math.min(15, Math.max(4, digits))));
}

/** Write a probability; one that is nearly 0 or 1 is not shown as if it were. */
export function percent(p) {
  if (!Number.isFinite(p)) return "–";
  if (p > 0 && p < 0.0005) return "<0.1 %";
  if (p < 1 && p > 0.9995) return ">99.9 %";
  return `${(100 * p).toFixed(1)} %`;
}

/** What counts from first to last of values that stand at 0, 1, 2, ... */
export function stretch(values, [first, last]) {
  return values.slice(Math.max(0, Math.floor(first)), Math.ceil(last) + 1);
}

/** The range of all finite values, widened a little; a flat line gets room on both sides. */
export function rangeOf(lists) {
  let low = Infinity;
  let high = -Infinity;
  for (const list of lists) {
    for (const x of list) {
      if (!Number.isFinite(x)) continue;
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  if (!(low <= high)) return [0, 1];
  const room = high > low ? 0.06 * (high - low) : Math.max(Math.abs(low) * 0.1, 0.5);
  return [low - room, high + room];
}

/** Round positions for the lines of a grid, at most n of them. */
export function ticks(low, high, n) {
  const rough = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) found.push(k * step);
  return found;
}

/** Make an element; what is said is always text, never markup. */
export function make(tag, className = "", text = null, attributes = {}) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== null) element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
