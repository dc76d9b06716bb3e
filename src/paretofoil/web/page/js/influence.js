/** The profile of influence along the episode: at each moment, the shares of all wishes that lead to each action. */

import { colourOf } from "./colours.js";
import { el } from "./dom.js";
import { join, percent, signed } from "./words.js";

/** What is known of the profile: all of it, or the moments that have come so far. */
export function momentsOf({ result, partial }) {
  return result?.influence.moments || partial || [];
}

/**
 * @param {Object} state
 * @param {Object[]} moments the library's influence at each
 * @param {function(number): void} pick with a moment
 */
export function influenceProfile(state, moments, pick) {
  if (!moments.length) return null;
  const here = moments.find((moment) => moment.time === state.time);
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
          column(state, moment, () => pick(moment.time)),
        ),
      ),
    ),
    here && el("p", { class: "influence-words" }, `Step ${here.time + 1}: ${wordsOf(state.agent, here)}`),
    legend(state.agent, moments),
  );
}

/** A stack of what is proven of each action; what is not decided stays hatched above it. */
function column(state, moment, run) {
  const { agent, time } = state;
  const label = `Step ${moment.time + 1}, ${agent.actions[moment.chosen]}: ${wordsOf(agent, moment)}`;
  const own = [...moment.shares].sort((a, b) => (b.action === moment.chosen) - (a.action === moment.chosen));
  return el(
    "button",
    {
      type: "button",
      class: `column${moment.time === time ? " now" : ""}`,
      "aria-label": label,
      title: label,
      on: { click: run },
    },
    own.map((share) =>
      el("span", {
        class: "part",
        vars: { "--share": sizeOf(moment, share).toFixed(4), "--colour": colourOf(share.action) },
      }),
    ),
  );
}

/** Of a black box nothing is proven: what samples say is drawn instead. */
function sizeOf(moment, share) {
  return moment.proven ? share.lower : share.sampled / moment.samples;
}

function wordsOf(agent, moment) {
  if (moment.inert) return "no wish in its range changes what it does; this is proven.";
  const [least, most] = moment.changed;
  const told = most - least < 0.005 ? percent(least) : `${percent(least)} to ${percent(most)}`;
  const matters = (moment.alone || [])
    .filter((one) => one.down || one.up)
    .map((one) => agent.objectives[one.objective].name);
  return `${told} of all wishes lead elsewhere${matters.length ? `; ${join(matters)} alone can turn it` : ""}.`;
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
    el("li", {}, el("span", { class: "patch open" }), "not decided"),
  );
}
