/** The profile of influence along the episode: at each moment the share of wishes that lead elsewhere. */

import { el } from "./dom.js";
import { percent, signed } from "./words.js";

/**
 * @param {Object} state
 * @param {Object} result of `pf.influence`: for each moment the shares of the actions as proven intervals
 * @param {function(number): void} pick with a moment
 */
export function influenceProfile(state, result, pick) {
  const { agent, episode, time } = state;
  const moments = momentsIn(result);
  return el("ol", { class: "profile" }, moments.map((moment) => {
    const decision = episode.decisions[moment.time];
    const kept = intervalOf(moment, decision.action);
    if (!kept) return null;
    const [least, most] = [1 - kept[1], 1 - kept[0]];
    const words = moment.inert ? "no wish changes what it does, proven" : `${rangeWords(least, most)} of all wishes lead elsewhere`;
    const label = `Step ${moment.time + 1}, ${signed(agent.actions[decision.action])}: ${words}`;
    return el("li", {}, el("button", {
      type: "button", class: `column${moment.time === time ? " now" : ""}${moment.inert ? " inert" : ""}`, "aria-label": label, title: label,
      vars: { "--least": least.toFixed(4), "--most": most.toFixed(4) }, on: { click: () => pick(moment.time) },
    }, el("span", { class: "most" }), el("span", { class: "least" })));
  }));
}

function momentsIn(result) {
  return result.moments || result.decisions || result.influences || [];
}

function intervalOf(moment, action) {
  const shares = moment.shares || [];
  const found = shares[action] ?? shares.find?.((share) => share?.action === action);
  if (Array.isArray(found)) return found;
  return found ? [found.low ?? found.lower, found.high ?? found.upper] : null;
}

function rangeWords(least, most) {
  return most - least < 0.005 ? percent((least + most) / 2) : `${percent(least)} to ${percent(most)}`;
}
