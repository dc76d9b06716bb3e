/** The flip map: steps in columns, actions in rows. The darker a cell, the smaller the change. */

import { el } from "./dom.js";
import { short, sign, signed } from "./text.js";

/**
 * @param {Object} state
 * @param {Array<{step: number, foil: number, status: string, distance: number|null}>} cells all, or those known so far
 * @param {function(number, number): void} pick called with step and foil
 */
export function flipMap(state, cells, pick) {
  const { agent, episode, step } = state;
  const answers = new Map(cells.map((answer) => [`${answer.step}/${answer.foil}`, answer]));
  const farthest = Math.max(1e-9, ...cells.map((answer) => answer.distance ?? 0));
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, el("span", { class: "hidden" }, "Action")),
    episode.decisions.map((_, t) => el("th", { scope: "col", class: t === step ? "now" : null }, t + 1)),
  );
  const rows = agent.actions.map((name, action) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, signed(name)),
      episode.decisions.map((decision, t) =>
        el(
          "td",
          { class: t === step ? "now" : null },
          cell(agent, decision, action, answers.get(`${t}/${action}`), farthest, () => pick(t, action)),
        ),
      ),
    ),
  );
  return el(
    "div",
    { class: "flip-scroll", tabindex: 0, role: "region", "aria-label": "Flip map" },
    el("table", { class: "flips" }, el("thead", {}, head), el("tbody", {}, chosenRows(agent, episode), rows)),
    legend(agent.amounts ? null : mark(agent.actions[episode.decisions[0].action]), cells),
  );
}

/** Return a row for each dimension of continuous actions, with the amounts that were chosen. */
function chosenRows({ amounts }, { decisions }) {
  return (amounts || []).map(({ name, unit }, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, unit ? `${name}, ${unit}` : name),
      decisions.map((decision) => el("td", { class: "chosen" }, short(decision.amounts[i], 2))),
    ),
  );
}

function cell(agent, decision, action, answer, farthest, run) {
  const name = agent.actions[action],
    place = `Step ${decision.step + 1}, ${name}`;
  if (action === decision.action)
    return el(
      "span",
      {
        class: "cell taken",
        role: "img",
        "aria-label": `${place}: the chosen action`,
        title: `${place}: the chosen action`,
      },
      mark(name),
    );
  if (!decision.valid_actions.includes(action))
    return el("span", { class: "cell barred", role: "img", "aria-label": `${place}: not valid here` });
  if (!answer) return el("span", { class: "cell unknown", role: "img", "aria-label": `${place}: not known yet` });
  const words = `${place}: ${cellText(answer)}`;
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

/** Return the mark of a chosen action: its arrow, if it has one. */
const mark = (name) => sign(name) || "●";

const kindOf = (answer) => (isFound(answer) ? "found" : answer.status === "proven infeasible" ? "never" : "unfound");

const isFound = (answer) => answer.distance !== null;

function cellText(answer) {
  if (isFound(answer)) return `a change of ${short(100 * answer.distance, 2)} % of the ranges`;
  return answer.status === "proven infeasible" ? "proven: no command in the search region leads to it" : "no command found";
}

/** Return the legend of the cells. */
function legend(taken, cells) {
  const item = (kind, text, words, nearness = 0) =>
    el("li", {}, el("span", { class: `cell ${kind}`, vars: { "--nearness": nearness } }, text), words);
  return el(
    "ul",
    { class: "legend" },
    item("found", "", "small change", 0.95),
    item("found", "", "large change", 0.1),
    item("never", "×", "proven impossible"),
    cells.some((answer) => kindOf(answer) === "unfound") && item("unfound", "?", "no command found"),
    taken && item("taken", taken, "chosen action"),
    item("barred", "", "not valid"),
  );
}
