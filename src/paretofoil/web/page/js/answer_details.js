/** The parts of an answer: the change as bars; its numbers, its proof, and the lines of Python that give the same answer. */

import { button, copy, el, save } from "./dom.js";
import { foilName } from "./outcome.js";
import { amount, whatChanges, commandText, percent, quantity, short } from "./text.js";

/** @param {AnswerResult} result */
export function answerDetails(state, result) {
  const { agent } = state;
  const { answer } = result;
  return el(
    "details",
    { class: "more-about" },
    el("summary", {}, "Details, proof and export"),
    el("p", {}, result.paragraph || result.sentence),
    el(
      "dl",
      { class: "facts" },
      rows(agent, answer).flatMap(([name, fact]) => [el("dt", {}, name), el("dd", {}, fact)]),
    ),
    result.python &&
      el("pre", { tabindex: 0, "aria-label": "Lines of Python that give this answer" }, el("code", {}, result.python)),
    el("div", { class: "buttons" }, exports(state, result)),
  );
}

function rows(agent, answer) {
  const { actions } = agent;
  const { quoted, rollouts, search, question } = answer;
  const { chosen, foil, norm, probabilities } = question;
  const queries = Object.values(search.queries).reduce((sum, count) => sum + count, 0);
  return [
    ["Status", `${answer.status}, by ${search.name}`],
    quoted && [
      "Scaled distance",
      `${short(quoted.distance)} (${norm}); proven lower bound ${short(answer.lower_bound)}`,
    ],
    ...(quoted && foil !== null && !question.amounts.length ? [foil, chosen] : []).map((action) => [
      `Probability of ${actions[action]}`,
      `${percent(probabilities[action])} → ${percent(quoted.probabilities[action])}`,
    ]),
    answer.proven_range && ["Proven range", rangeText(agent, answer.proven_range)],
    rollouts?.quoted && ["Outcome of the new command", commandText(agent.objectives, rollouts.quoted.achieved)],
    rollouts?.original && [
      "Outcome of the original command",
      commandText(agent.objectives, rollouts.original.achieved),
    ],
    answer.proof && ["Proof", proofText(agent, answer.proof, foil === null ? "meets the outcome" : "leads to the foil")],
    answer.proof && ["Assumptions", answer.proof.assumptions],
    ["Cost", `${queries.toLocaleString("en")} queries, ${short(search.seconds, 2)} s`],
  ].filter(Boolean);
}

/** Return "treasure 2 to 13, time 1 step to 2.6 steps". */
export function rangeText(agent, range) {
  return agent.objectives
    .map((objective, i) => {
      const ends = [range.low[i], range.high[i]];
      const [first, second] = objective.cost ? ends.reverse() : ends;
      return `${objective.name} ${quantity(objective, first)} to ${quantity(objective, second)}`;
    })
    .join(", ");
}

function proofText(agent, certificate, does) {
  const count = certificate.boxes.toLocaleString("en");
  const boxes = `${count} ${certificate.boxes === 1 ? "box" : "boxes"} bounded`;
  if (certificate.status === "infeasible") return `no ${whatChanges(agent)} of the search region ${does}; ${boxes}`;
  return `no ${whatChanges(agent)} closer than ${short(certificate.lower)} ${does}; ${boxes}`;
}

function exports(state, result) {
  const name = `${state.agent.name}-${state.step}-${foilName(state.agent, state.foil)}`.replace(/[^\w-]+/g, "-");
  const lines = button("Copy the lines of Python", () => copy(result.python, lines));
  return [
    result.python && lines,
    button("Save as JSON", () => save(`${name}.json`, JSON.stringify(result.answer, null, 1), "application/json")),
  ];
}

/**
 * Return a picture of a change: for each objective the original and the new amount, for each feature its place in its
 * range.
 * @param {Agent} agent
 * @param {number[]} original
 * @param {number[]} changed
 * @param {string} label of the new amount
 */
export function changePicture(agent, original, changed, label = "new") {
  const { low, high } = agent.space;
  const parts = agent.objectives.map((objective, i) => {
    const range = objective.feature && [Math.min(low[i], original[i]), Math.max(high[i], original[i])];
    return changeRow(objective, original[i], changed[i], label, range);
  });
  return el("div", { class: "change", role: "list", "aria-label": "The change" }, parts);
}

function changeRow(objective, before, after, label, range) {
  const from = amount(objective, before),
    to = amount(objective, after);
  const unchanged = Math.abs(from - to) < 1e-9;
  const most = Math.max(Math.abs(from), Math.abs(to)) || 1;
  const share = (x) => (range ? (x - range[0]) / (range[1] - range[0] || 1) : Math.abs(x) / most);
  const numbers = unchanged
    ? `unchanged: ${quantity(objective, before)}`
    : `${short(from, 3)} → ${arrival(objective, before, after)}`;
  return el(
    "div",
    { class: `change-row${unchanged ? " unchanged" : ""}`, role: "listitem" },
    el("span", { class: "change-name" }, objective.name),
    el(
      "span",
      { class: "change-bars", "aria-hidden": "true" },
      bar("original", share(from), "original"),
      !unchanged && bar("changed", share(to), label),
    ),
    el("span", { class: "change-numbers" }, numbers),
  );
}

/** Return the new amount; if three digits do not tell it from the old one, the difference as well. */
function arrival(objective, before, after) {
  const text = quantity(objective, after);
  if (text !== quantity(objective, before)) return text;
  const difference = amount(objective, after) - amount(objective, before);
  return `${text} (${difference > 0 ? "+" : "−"}${short(Math.abs(difference), 1)})`;
}

function bar(kind, share, title) {
  return el("span", { class: `bar ${kind}`, title }, el("span", { class: "fill", vars: { "--share": share } }));
}
