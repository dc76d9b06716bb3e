/** Sliders for the objectives of a command. */

import { el } from "./dom.js";
import { quantity } from "./text.js";

const STEPS = 400;
let serial = 0;

/**
 * Return a slider for each objective. Preferences always sum to 1.
 * @param {{objectives: Object[]}} agent
 * @param {{low: number[], high: number[], kind?: string}} region
 * @param {function(number[]): void} onChange
 * @returns {{node: HTMLElement, show: function(number[]): void, limit: function(Object): void}}
 */
export function commandSliders(agent, region, onChange) {
  let command = [...region.low],
    limits = region;
  const rows = agent.objectives.map((objective, i) =>
    sliderRow(objective, (share) => {
      const value = limits.low[i] + share * (limits.high[i] - limits.low[i]);
      command = region.kind === "simplex" ? balanced(command, i, value) : command.map((x, j) => (j === i ? value : x));
      show(command);
      onChange([...command]);
    }),
  );

  function show(values) {
    command = [...values];
    rows.forEach((row, i) =>
      row.show(command[i], (command[i] - limits.low[i]) / (limits.high[i] - limits.low[i] || 1)),
    );
  }

  return {
    node: el(
      "div",
      { class: "sliders" },
      rows.map((row) => row.node),
    ),
    show,
    limit: (changed) => (limits = changed),
  };
}

function sliderRow(objective, move) {
  const id = `slider-${++serial}`;
  const text = el("output", { for: id, class: "slider-value" });
  const input = el("input", {
    type: "range",
    id,
    min: 0,
    max: STEPS,
    step: 1,
    on: {
      // Costs grow to the right, although their number falls.
      input: () => move(objective.cost ? 1 - Number(input.value) / STEPS : Number(input.value) / STEPS),
    },
  });
  const node = el("div", { class: "slider" }, el("label", { for: id }, objective.name), input, text);
  return {
    node,
    show(value, share) {
      input.value = String(Math.round(STEPS * (objective.cost ? 1 - share : share)));
      text.textContent = quantity(objective, value);
      input.setAttribute("aria-valuetext", quantity(objective, value));
    },
  };
}

/** Return weights that sum to 1: one has the given value, the others keep their proportions. */
export function balanced(weights, i, value) {
  const weight = Math.max(0, Math.min(1, value));
  const others = weights.reduce((sum, x, j) => (j === i ? sum : sum + x), 0);
  return weights.map((x, j) =>
    j === i ? weight : others > 0 ? (x / others) * (1 - weight) : (1 - weight) / (weights.length - 1),
  );
}
