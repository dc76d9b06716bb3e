/** A slider for each objective of a command. */

import { el } from "./dom.js";
import { quantity } from "./words.js";

const STEPS = 400;
let serial = 0;

/**
 * Sliders that stay in place while they are moved; preferences are kept at a sum of 1.
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
      const asked = limits.low[i] + share * (limits.high[i] - limits.low[i]);
      command = region.kind === "simplex" ? balanced(command, i, asked) : command.map((x, j) => (j === i ? asked : x));
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
  const told = el("output", { for: id, class: "slider-value" });
  const input = el("input", {
    type: "range",
    id,
    min: 0,
    max: STEPS,
    step: 1,
    on: {
      // A cost grows to the right, as people think of it, though its number falls.
      input: () => move(objective.cost ? 1 - input.value / STEPS : input.value / STEPS),
    },
  });
  const node = el("div", { class: "slider" }, el("label", { for: id }, objective.name), input, told);
  return {
    node,
    show(value, share) {
      input.value = Math.round(STEPS * (objective.cost ? 1 - share : share));
      told.textContent = quantity(objective, value);
      input.setAttribute("aria-valuetext", quantity(objective, value));
    },
  };
}

/** One weight as asked, the others in their proportions, all of them 1. */
export function balanced(weights, i, asked) {
  const weight = Math.max(0, Math.min(1, asked));
  const others = weights.reduce((sum, x, j) => (j === i ? sum : sum + x), 0);
  return weights.map((x, j) =>
    j === i ? weight : others > 0 ? (x / others) * (1 - weight) : (1 - weight) / (weights.length - 1),
  );
}
