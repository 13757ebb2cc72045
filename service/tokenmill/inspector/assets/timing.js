// @ts-check
/** How fast an answer came: the time from token to event, and between tokens, as figures and as a plot. */

import { count, h, s } from "./dom.js";

/** @import {Answer} from "./conversation.js" */

const WIDTH = 600;
const HEIGHT = 120;
const BARS = 200;

/** Figures and plot of an answer. */
export class Timing {
  facts = h("dl", { class: "facts", "data-testid": "timing" });
  plot = h("figure");
  element = h("section", { "aria-label": "Timing" }, h("h2", {}, "Timing"), this.facts, this.plot);

  /** @param {Answer} answer */
  show(answer) {
    const { came, delays, unsent, repeated } = answer;
    const gaps = came.slice(1).map(({ time }, place) => Math.max(0, time - came[place].time));
    const seconds = came.length > 1 ? (came[came.length - 1].time - came[0].time) / 1000 : 0;
    const sorted = delays.map(({ delay }) => delay).sort((one, other) => one - other);
    this.facts.replaceChildren(...Object.entries({
      "Tokens a second": seconds ? ((came.length - 1) / seconds).toFixed(1) : "–",
      "Longest gap": gaps.length ? ms(longest(gaps)) : "–",
      "Token to event": sorted.length ? `${ms(at(sorted, 0.5))} (p50), ${ms(at(sorted, 0.99))} (p99)` : "not seen as it came",
      "On their way to the log": count(unsent, "event"),
      "Published again": count(repeated, "event"),
    }).map(([title, value]) => h("div", { class: "fact" }, h("dt", {}, title), h("dd", {}, value))));
    this.plot.replaceChildren(...(gaps.length ? this.#draw(answer, gaps, seconds * 1000) : []));
  }

  /** @param {Answer} answer @param {number[]} gaps @param {number} span */
  #draw({ came, delays }, gaps, span) {
    const x = (/** @type {number} */ record) => (span ? (WIDTH * (came[record].time - came[0].time)) / span : 0);
    const waits = highest(gaps.map((gap, place) => [x(place + 1), gap]));
    const delayed = highest(delays.map(({ record, delay }) => [x(record), delay]));
    const top = Math.max(1, longest([...waits, ...delayed].map(([, value]) => value)));
    const y = (/** @type {number} */ value) => HEIGHT - (HEIGHT * value) / top;
    const said = `Bars: from one token to the next. Line: from token to event in the log. Up to ${ms(top)}, over ${ms(span)}.`;
    const plot = s("svg", { viewBox: `-2 0 ${WIDTH + 4} ${HEIGHT}`, preserveAspectRatio: "none", class: "plot", role: "img", "aria-label": said },
      ...waits.map(([place, value]) => s("rect", { x: place - 1, y: y(value), width: 2, height: HEIGHT - y(value), class: "gap" })),
      s("polyline", { points: delayed.map(([place, value]) => `${place},${y(value)}`).join(" "), class: "delay" }));
    return [plot, h("figcaption", { class: "hint" }, said)];
  }
}

/** The highest value of each bar's width. @param {number[][]} points */
function highest(points) {
  /** @type {Map<number, number[]>} */
  const bars = new Map();
  for (const point of points) {
    const bar = Math.round((point[0] * BARS) / WIDTH);
    if (point[1] >= (bars.get(bar)?.[1] ?? 0)) bars.set(bar, point);
  }
  return [...bars.values()].sort((one, other) => one[0] - other[0]);
}

/** @param {number[]} values */
function longest(values) {
  return values.reduce((one, other) => Math.max(one, other), 0);
}

/** @param {number[]} sorted @param {number} part */
function at(sorted, part) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

/** @param {number} value */
function ms(value) {
  return value < 10_000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(1)} s`;
}
