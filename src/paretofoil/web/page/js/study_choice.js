/** Radio buttons: an action, an agent, a point of a scale. */

import { el } from "./dom.js";

let serial = 0;

/**
 * @param {string} legend
 * @param {Array<{value: any, label: (Node|string), spoken?: string}>} options
 * @param {Object} attributes of the fieldset
 * @param {Node[]} ends labels at both ends
 * @returns {{node: HTMLElement, value: function(): any, focus: function(): void}} the value is null if nothing is chosen
 */
export function createChoice(legend, options, attributes = {}, ends = []) {
  const name = `choice-${++serial}`;
  const inputs = options.map(({ spoken }) => el("input", { type: "radio", name, "aria-label": spoken }));
  const labels = options.map(({ label }, i) => el("label", { class: "choice" }, inputs[i], el("span", {}, label)));
  const chosen = () => inputs.findIndex((input) => input.checked);
  return {
    node: el(
      "fieldset",
      attributes,
      el("legend", {}, legend),
      el("div", { class: "choices" }, ends[0], labels, ends[1]),
    ),
    value: () => (chosen() < 0 ? null : options[chosen()].value),
    focus: () => inputs[0].focus(),
  };
}

/** Return a rating: a scale of points. */
export function createRating({ name, text, low, high, points }) {
  const options = Array.from({ length: points }, (_, i) => ({
    value: i + 1,
    label: String(i + 1),
    spoken: spokenPoint(i + 1, points, low, high),
  }));
  const ends = [low, high].map((words, i) =>
    el("span", { class: `scale-end ${i ? "high" : "low"}`, "aria-hidden": "true" }, words),
  );
  return { name, missing: `Please rate: ${text}`, ...createChoice(text, options, { class: "rating" }, ends) };
}

function spokenPoint(point, points, low, high) {
  if (point === 1) return `1, ${low}`;
  return point === points ? `${point}, ${high}` : String(point);
}
