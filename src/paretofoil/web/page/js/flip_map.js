/** The flip map: time across, actions down; the darker a cell, the smaller the change that it needs. */

import { el } from "./dom.js";
import { short, sign, signed } from "./words.js";

/**
 * @param {Object} state
 * @param {Array<{step: number, foil: number, status: string, distance: number|null}>} cells maybe not yet all
 * @param {function(number, number): void} pick with moment and foil
 */
export function flipMap(state, cells, pick) {
  const { agent, episode, time } = state;
  const answers = new Map(cells.map((answer) => [`${answer.step}/${answer.foil}`, answer]));
  const farthest = Math.max(1e-9, ...cells.map((answer) => answer.distance ?? 0));
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, el("span", { class: "hidden" }, "Action")),
    episode.decisions.map((_, t) => el("th", { scope: "col", class: t === time ? "now" : null }, t + 1)),
  );
  const rows = agent.actions.map((name, action) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, signed(name)),
      episode.decisions.map((decision, t) =>
        el(
          "td",
          { class: t === time ? "now" : null },
          cell(agent, decision, action, answers.get(`${t}/${action}`), farthest, () => pick(t, action)),
        ),
      ),
    ),
  );
  return el(
    "div",
    { class: "flip-scroll", tabindex: 0, role: "region", "aria-label": "Flip map" },
    el("table", { class: "flips" }, el("thead", {}, head), el("tbody", {}, rows)),
    legend(mark(agent.actions[episode.decisions[0].action]), cells),
  );
}

function cell(agent, decision, action, answer, farthest, run) {
  const name = agent.actions[action],
    moment = `Step ${decision.step + 1}, ${name}`;
  if (action === decision.action)
    return el(
      "span",
      { class: "cell taken", role: "img", "aria-label": `${moment}: what it did`, title: `${moment}: what it did` },
      mark(name),
    );
  if (!decision.valid_actions.includes(action))
    return el("span", { class: "cell barred", role: "img", "aria-label": `${moment}: cannot be done here` });
  if (!answer) return el("span", { class: "cell unknown", role: "img", "aria-label": `${moment}: not known yet` });
  const words = `${moment}: ${wordsOf(answer)}`;
  const kind = kindOf(answer);
  const nearness = isFound(answer) ? 1 - Math.sqrt(answer.distance / farthest) : 0;
  return el(
    "button",
    {
      type: "button",
      class: `cell ${kind}`,
      "aria-label": words,
      title: words,
      vars: { "--nearness": nearness.toFixed(3) },
      on: { click: run },
    },
    kind === "never" ? "×" : kind === "unfound" ? "?" : "",
  );
}

/** An action that was taken: its arrow, if it has one. */
const mark = (name) => sign(name) || "●";

const kindOf = (answer) =>
  isFound(answer) ? "found" : answer.status === "proven infeasible" ? "never" : "unfound";

const isFound = (answer) => answer.distance !== null;

function wordsOf(answer) {
  if (isFound(answer)) return `a change of ${short(100 * answer.distance, 2)} % of the ranges`;
  return answer.status === "proven infeasible" ? "proven: no wish in its range does it" : "none found";
}

/** What the cells of this map mean. */
function legend(taken, cells) {
  const item = (kind, text, words, nearness = 0) =>
    el("li", {}, el("span", { class: `cell ${kind}`, vars: { "--nearness": nearness } }, text), words);
  return el(
    "ul",
    { class: "legend" },
    item("found", "", "small change", 0.95),
    item("found", "", "large change", 0.1),
    item("never", "×", "proven impossible"),
    cells.some((answer) => kindOf(answer) === "unfound") && item("unfound", "?", "none found"),
    item("taken", taken, "what it did"),
    item("barred", "", "cannot be done"),
  );
}
