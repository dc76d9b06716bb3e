/** The influence of the command along the episode: for each step, the share of commands that lead to each action. */

import { colourOf } from "./colours.js";
import { el } from "./dom.js";
import { join, percent, plainNumbers, signed } from "./text.js";

/**
 * Return the influence at all steps, or at those known so far.
 * @param {Task<any>} influence
 * @returns {InfluenceStep[]}
 */
export function influenceSteps({ result, partial }) {
  return result?.influence.steps || partial || [];
}

/**
 * @param {Object} state
 * @param {InfluenceStep[]} influences
 * @param {function(number): void} pick called with a step
 */
export function influenceProfile(state, influences, pick) {
  if (!influences.length) return null;
  if (state.agent.amounts) return amountProfile(state, /** @type {any} */ (influences), pick);
  const here = influences.find((influence) => influence.step === state.step);
  return el(
    "div",
    { class: "influence" },
    el(
      "ol",
      { class: "profile" },
      influences.map((influence) =>
        el(
          "li",
          {},
          column(state, influence, () => pick(influence.step)),
        ),
      ),
    ),
    here && el("p", { class: "influence-text" }, `Step ${here.step + 1}: ${influenceText(state.agent, here)}`),
    legend(state.agent, influences),
  );
}

/** Return the largest share of commands that change the action; for amounts, the share of the range that they reach. */
export function largestChange(agent, influence) {
  if (!influence.ranges) return influence.changed[1];
  const shares = influence.ranges.map(({ lowest, highest }, i) => (highest - lowest) / span(agent.amounts[i]));
  return Math.min(1, Math.max(...shares));
}

const span = ({ low, high }) => high - low;

/**
 * Return, for each dimension, a bar from the smallest to the largest amount that a command leads to, at each step.
 * @param {State} state
 * @param {AmountStep[]} influences
 * @param {function(number): void} pick
 */
function amountProfile({ agent, step }, influences, pick) {
  const here = influences.find((influence) => influence.step === step);
  return el(
    "div",
    { class: "influence" },
    agent.amounts.map((dimension, i) => [
      agent.amounts.length > 1 && el("p", { class: "small" }, dimension.name),
      el(
        "ol",
        { class: "profile" },
        influences.map((influence) => el("li", {}, rangeColumn(dimension, influence, i, step, pick))),
      ),
    ]),
    here && el("p", { class: "influence-text" }, `Step ${here.step + 1}: ${plainNumbers(here.sentence)}`),
    el(
      "ul",
      { class: "legend" },
      el("li", {}, el("span", { class: "patch", vars: { "--colour": colourOf(0) } }), "amounts that commands lead to"),
      el("li", {}, el("span", { class: "patch open" }), "undecided"),
      el("li", {}, el("span", { class: "chosen-amount" }), "chosen amount"),
    ),
  );
}

function rangeColumn(dimension, influence, i, step, pick) {
  const { chosen, least, most, lowest, highest } = influence.ranges[i];
  const share = (amount) => ((amount - dimension.low) / span(dimension)).toFixed(4);
  const label = `Step ${influence.step + 1}: ${plainNumbers(influence.sentence)}`;
  const part = (kind, from, to) =>
    el("span", { class: kind, vars: { "--from": share(from), "--to": share(to), "--colour": colourOf(0) } });
  return el(
    "button",
    {
      type: "button",
      class: `column of-amounts${influence.step === step ? " now" : ""}`,
      "aria-label": label,
      title: label,
      on: { click: () => pick(influence.step) },
    },
    part("undecided-range", lowest, highest),
    part("found-range", least, most),
    part("chosen-amount", chosen, chosen),
  );
}

/**
 * Return a stack of the proven shares. The undecided rest above it is hatched.
 * @param {InfluenceStep} influence
 */
function column(state, influence, run) {
  const { agent, step } = state;
  const label = `Step ${influence.step + 1}, ${agent.actions[influence.chosen]}: ${influenceText(agent, influence)}`;
  const isChosen = (share) => Number(share.action === influence.chosen);
  const shares = [...influence.shares].sort((a, b) => isChosen(b) - isChosen(a));
  return el(
    "button",
    {
      type: "button",
      class: `column${influence.step === step ? " now" : ""}`,
      "aria-label": label,
      title: label,
      on: { click: run },
    },
    shares.map((share) =>
      el("span", {
        class: "part",
        vars: { "--share": sizeOf(influence, share).toFixed(4), "--colour": colourOf(share.action) },
      }),
    ),
  );
}

/** Return the proven share, or for a black box the sampled one. */
function sizeOf(influence, share) {
  return influence.proven ? share.lower : share.sampled / influence.samples;
}

function influenceText(agent, influence) {
  if (influence.inert) return "no command in the search region changes the action (proven).";
  const [least, most] = influence.changed;
  const share = most - least < 0.005 ? percent(least) : `${percent(least)} to ${percent(most)}`;
  const matters = (influence.alone || [])
    .filter((one) => one.down || one.up)
    .map((one) => agent.objectives[one.objective].name);
  return `${share} of the commands lead to another action${matters.length ? `; ${join(matters)} alone can change it` : ""}.`;
}

function legend(agent, influences) {
  const used = [...new Set(influences.flatMap((influence) => influence.shares.map((share) => share.action)))].sort(
    (a, b) => a - b,
  );
  return el(
    "ul",
    { class: "legend" },
    used.map((action) =>
      el(
        "li",
        {},
        el("span", { class: "patch", vars: { "--colour": colourOf(action) } }),
        signed(agent.actions[action]),
      ),
    ),
    el("li", {}, el("span", { class: "patch open" }), "undecided"),
  );
}
