/** The influence of the command along the episode: for each step, the share of commands that lead to each action. */

import { colourOf } from "./colours.js";
import { el } from "./dom.js";
import { join, percent, signed } from "./text.js";

/** Return the influence at all steps, or at those known so far. */
export function influenceSteps({ result, partial }) {
  return result?.influence.steps || partial || [];
}

/**
 * @param {Object} state
 * @param {Object[]} moments the library's influence at each step
 * @param {function(number): void} pick called with a step
 */
export function influenceProfile(state, moments, pick) {
  if (!moments.length) return null;
  const here = moments.find((moment) => moment.step === state.step);
  return el(
    "div",
    { class: "influence" },
    el(
      "ol",
      { class: "profile" },
      moments.map((moment) =>
        el(
          "li",
          {},
          column(state, moment, () => pick(moment.step)),
        ),
      ),
    ),
    here && el("p", { class: "influence-text" }, `Step ${here.step + 1}: ${influenceText(state.agent, here)}`),
    legend(state.agent, moments),
  );
}

/** Return a stack of the proven shares. The undecided rest above it is hatched. */
function column(state, moment, run) {
  const { agent, step } = state;
  const label = `Step ${moment.step + 1}, ${agent.actions[moment.chosen]}: ${influenceText(agent, moment)}`;
  const isChosen = (share) => Number(share.action === moment.chosen);
  const shares = [...moment.shares].sort((a, b) => isChosen(b) - isChosen(a));
  return el(
    "button",
    {
      type: "button",
      class: `column${moment.step === step ? " now" : ""}`,
      "aria-label": label,
      title: label,
      on: { click: run },
    },
    shares.map((share) =>
      el("span", {
        class: "part",
        vars: { "--share": sizeOf(moment, share).toFixed(4), "--colour": colourOf(share.action) },
      }),
    ),
  );
}

/** Return the proven share, or for a black box the sampled one. */
function sizeOf(moment, share) {
  return moment.proven ? share.lower : share.sampled / moment.samples;
}

function influenceText(agent, moment) {
  if (moment.inert) return "no command in the search region changes the action (proven).";
  const [least, most] = moment.changed;
  const share = most - least < 0.005 ? percent(least) : `${percent(least)} to ${percent(most)}`;
  const matters = (moment.alone || [])
    .filter((one) => one.down || one.up)
    .map((one) => agent.objectives[one.objective].name);
  return `${share} of the commands lead to another action${matters.length ? `; ${join(matters)} alone can change it` : ""}.`;
}

function legend(agent, moments) {
  const used = [...new Set(moments.flatMap((moment) => moment.shares.map((share) => share.action)))].sort(
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
