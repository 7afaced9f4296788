// The training curves of a run.

import { LineChart, inks } from "./charts.js";
import { make } from "./numbers.js";

const MOST_AT_ONCE = 60;

export function start({ element, props, watch }) {
  const mount = element.querySelector(".inspector-mount");
  let charts = [];
  const show = () => {
    charts.forEach((chart) => chart.destroy());
    charts = [];
    mount.replaceChildren();
    const value = props.value;
    if (!value || !value.curves.length) {
      mount.append(make("p", "inspector-empty", "This run has not written any metrics yet."));
      return;
    }
    build(mount, value, charts);
  };
  watch("value", show);
  show();
}

function build(mount, value, charts) {
  const bar = make("div", "curves-bar");
  const filter = make("input", "", null, {
    type: "search",
    placeholder: "Filter metrics, e.g. loss",
    "aria-label": "Filter metrics",
  });
  const note = make("span", "inspector-faint");
  bar.append(filter, note);
  const grid = make("div", "charts");
  mount.append(bar, grid);
  const last = Math.max(...value.curves.map((curve) => curve.x[curve.x.length - 1]));
  const fill = () => {
    charts.splice(0).forEach((chart) => chart.destroy());
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = value.curves.filter((curve) =>
      words.length
        ? words.every((word) => `${curve.key} ${curve.description}`.toLowerCase().includes(word))
        : curve.is_first,
    );
    const chosen = (found.length || words.length ? found : value.curves).slice(0, MOST_AT_ONCE);
    note.textContent = `${chosen.length} of ${value.curves.length} metrics over ${value.axis}; `
      + "dashed: checkpoints";
    for (const curve of chosen) {
      const line = { name: "", values: curve.y, xs: curve.x, colour: inks(mount).a };
      const options = {
        title: curve.key,
        hint: curve.description,
        domain: [0, last],
        marks: value.marks,
        follows: true,
        height: 150,
      };
      charts.push(new LineChart(grid, [line], options));
    }
  };
  filter.addEventListener("input", fill);
  fill();
}
