/** The front of two objectives as a picture. Each point is a goal that can be chosen. */

import { svg, el } from "./dom.js";
import { quantity } from "./text.js";

const WIDTH = 420,
  HEIGHT = 320,
  LEFT = 76,
  RIGHT = 16,
  TOP = 16,
  BOTTOM = 46;

/**
 * @param {Object} agent
 * @param {function(number): void} pick called with the index of a point
 */
export function frontPicture(agent, pick) {
  const [x, y] = [0, 1].map((i) =>
    scale(
      agent.front.map((point) => point[i]),
      i ? [HEIGHT - BOTTOM, TOP] : [LEFT, WIDTH - RIGHT],
    ),
  );
  const points = agent.front.map((point, i) =>
    dot(x.to(point[0]), y.to(point[1]), `Ask for ${agent.front_texts[i]}`, () => pick(i)),
  );
  const sorted = [...agent.front].sort((a, b) => a[0] - b[0]);
  const line = sorted
    .map((point, i) => `${i ? "L" : "M"}${x.to(point[0]).toFixed(1)} ${y.to(point[1]).toFixed(1)}`)
    .join("");
  return el(
    "figure",
    { class: "card front" },
    svg(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        class: "front-picture",
        role: "group",
        "aria-label": "The goals of the agent by their two objectives",
      },
      axes(agent.objectives, x, y),
      svg("path", { d: line, class: "front-line" }),
      points,
    ),
    el(
      "figcaption",
      {},
      "Each point is a goal that the agent has learned. What is better in one objective is worse in the other. Choose a point or a card.",
    ),
  );
}

function scale(values, [start, end]) {
  const low = Math.min(...values),
    high = Math.max(...values);
  const pad = (high - low || 1) * 0.06;
  return { low, high, to: (value) => start + ((value - low + pad) / (high - low + 2 * pad || 1)) * (end - start) };
}

function axes([first, second], x, y) {
  const floor = HEIGHT - BOTTOM;
  return svg(
    "g",
    { class: "axes", "aria-hidden": "true" },
    svg("path", { d: `M${LEFT} ${TOP}V${floor}H${WIDTH - RIGHT}` }),
    [x.low, x.high].map((value, i) =>
      svg("text", { x: x.to(value), y: floor + 18, "text-anchor": i ? "end" : "start" }, quantity(first, value)),
    ),
    [y.low, y.high].map((value, i) =>
      svg("text", { x: LEFT - 8, y: y.to(value) + (i ? 8 : 0), "text-anchor": "end" }, quantity(second, value)),
    ),
    svg(
      "text",
      { x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, "text-anchor": "middle", class: "axis-name" },
      first.name,
    ),
    svg(
      "text",
      {
        x: 14,
        y: (TOP + floor) / 2,
        "text-anchor": "middle",
        class: "axis-name",
        transform: `rotate(-90 14 ${(TOP + floor) / 2})`,
      },
      second.name,
    ),
  );
}

function dot(x, y, label, run) {
  const act = (event) => {
    if (event.type === "click" || event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      run();
    }
  };
  return svg(
    "g",
    { class: "front-point", role: "button", tabindex: 0, "aria-label": label, on: { click: act, keydown: act } },
    svg("title", {}, label),
    svg("circle", { cx: x, cy: y, r: 16, class: "reach" }),
    svg("circle", { cx: x, cy: y, r: 7, class: "dot" }),
  );
}
