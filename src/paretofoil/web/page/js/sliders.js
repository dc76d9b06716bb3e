/** Sliders for the objectives of a command, each with a number that can be typed. */

import { el } from "./dom.js";
import { amount, fromAmount, quantity, short } from "./text.js";

const STEPS = 400;
let serial = 0;

/**
 * Return a slider for each objective. Preferences always sum to 1.
 * @param {{objectives: Object[]}} agent
 * @param {{low: number[], high: number[], kind?: string}} region
 * @param {function(number[]): void} onChange
 * @param {function(): void} onRelease called when a slider is let go, or a number was typed
 * @returns {{node: HTMLElement, show: function(number[]): void, limit: function(Object): void}}
 */
export function commandSliders(agent, region, onChange, onRelease = () => {}) {
  let command = [...region.low],
    limits = region;
  const rows = agent.objectives.map((objective, i) =>
    sliderRow(
      objective,
      (share) => set(i, limits.low[i] + share * (limits.high[i] - limits.low[i])),
      (value) => set(i, Math.max(limits.low[i], Math.min(limits.high[i], value))),
      onRelease,
    ),
  );

  function set(i, value) {
    command = region.kind === "simplex" ? balanced(command, i, value) : command.map((x, j) => (j === i ? value : x));
    show(command);
    onChange([...command]);
  }

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

function sliderRow(objective, move, type, release) {
  const id = `slider-${++serial}`;
  const unit = objective.probability ? "%" : objective.unit;
  const number = el("input", {
    type: "number",
    step: "any",
    "aria-label": `${objective.name}, typed${unit ? ` in ${unit}` : ""}`,
    on: {
      change: () => {
        if (number.value !== "") type(fromAmount(objective, Number(number.value)));
        release();
      },
    },
  });
  const input = el("input", {
    type: "range",
    id,
    min: 0,
    max: STEPS,
    step: 1,
    on: {
      // Costs grow to the right, although their number falls.
      input: () => move(objective.cost ? 1 - Number(input.value) / STEPS : Number(input.value) / STEPS),
      change: release,
    },
  });
  const typed = el("span", { class: "slider-value" }, number, unit && el("span", {}, unit));
  const node = el("div", { class: "slider" }, el("label", { for: id }, objective.name), input, typed);
  return {
    node,
    show(value, share) {
      input.value = String(Math.round(STEPS * (objective.cost ? 1 - share : share)));
      number.value = short(amount(objective, value), 3);
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
