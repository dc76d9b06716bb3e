/** One of several, picked with the pointer or the arrow keys: an action, an agent, a point of a scale. */

import { el } from "./dom.js";

let serial = 0;

/**
 * @param {string} legend
 * @param {Array<{value: any, label: (Node|string), spoken?: string}>} options
 * @param {Object} attributes of the fieldset
 * @returns {{node: HTMLElement, value: function(): any, focus: function(): void}} a value of null: nothing was picked
 */
export function createChoice(legend, options, attributes = {}, ends = []) {
  const name = `choice-${++serial}`;
  const inputs = options.map(({ spoken }) => el("input", { type: "radio", name, "aria-label": spoken }));
  const labels = options.map(({ label }, i) => el("label", { class: "choice" }, inputs[i], el("span", {}, label)));
  const picked = () => inputs.findIndex((input) => input.checked);
  return {
    node: el(
      "fieldset",
      attributes,
      el("legend", {}, legend),
      el("div", { class: "choices" }, ends[0], labels, ends[1]),
    ),
    value: () => (picked() < 0 ? null : options[picked()].value),
    focus: () => inputs[0].focus(),
  };
}

/** A rating: points from one end to the other. */
export function createRating({ name, text, low, high, points }) {
  const options = Array.from({ length: points }, (_, i) => ({
    value: i + 1,
    label: String(i + 1),
    spoken: spokenPoint(i + 1, points, low, high),
  }));
  const ends = [low, high].map((words, i) =>
    el("span", { class: `scale-end ${i ? "high" : "low"}`, "aria-hidden": "true" }, words),
  );
  return { name, wanted: `Please rate: ${text}`, ...createChoice(text, options, { class: "rating" }, ends) };
}

function spokenPoint(point, points, low, high) {
  if (point === 1) return `1, ${low}`;
  return point === points ? `${point}, ${high}` : String(point);
}
