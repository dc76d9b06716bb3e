/** What an answer rests on, for those who want to know: numbers, proof, and the lines that give the same answer. */

import { button, copy, el, save } from "./dom.js";
import { percent, quantity, short, wishes } from "./words.js";

/** @param {{answer: Object, paragraph?: string, python?: string}} result */
export function answerDetails(state, result) {
  const { agent } = state;
  const { answer } = result;
  return el(
    "details",
    { class: "more-about" },
    el("summary", {}, "Details, proof and export"),
    result.paragraph && el("p", {}, result.paragraph),
    el(
      "dl",
      { class: "facts" },
      rows(agent, answer).flatMap(([name, fact]) => [el("dt", {}, name), el("dd", {}, fact)]),
    ),
    answer.proof && el("p", { class: "small" }, answer.proof.assumptions),
    result.python &&
      el("pre", { tabindex: 0, "aria-label": "Python lines that give this answer" }, el("code", {}, result.python)),
    el("div", { class: "deeds" }, exports(state, result)),
  );
}

function rows(agent, answer) {
  const { actions } = agent;
  const { quoted, rollouts, search, question } = answer;
  const { chosen, foil, norm, probabilities } = question;
  const found = quoted !== null;
  const queries = Object.values(search.queries).reduce((sum, count) => sum + count, 0);
  return [
    ["Status", `${answer.status}, by ${search.name}`],
    found && [
      "Size of the change",
      `${short(quoted.distance)} of the ranges (${norm}); none below ${short(answer.lower_bound)}`,
    ],
    found && [
      `Probability of ${actions[foil]}`,
      `${percent(probabilities[foil])} → ${percent(quoted.probabilities[foil])}`,
    ],
    found && [
      `Probability of ${actions[chosen]}`,
      `${percent(probabilities[chosen])} → ${percent(quoted.probabilities[chosen])}`,
    ],
    answer.proven_range && ["Proven range", rangeWords(agent, answer.proven_range)],
    rollouts?.quoted && ["Issued here, it leads to", wishes(agent.objectives, rollouts.quoted.achieved)],
    rollouts?.original && [
      "Your wish leads to",
      wishes(agent.objectives, rollouts.original.achieved),
    ],
    answer.proof && ["Proof", proofWords(answer.proof)],
    ["Effort", `${queries.toLocaleString("en")} queries, ${short(search.seconds, 2)} s`],
  ].filter(Boolean);
}

/** "treasure 2 to 13, time 1 step to 2.6 steps". */
export function rangeWords(agent, range) {
  return agent.objectives
    .map((objective, i) => {
      const ends = [range.low[i], range.high[i]];
      const [first, second] = objective.cost ? ends.reverse() : ends;
      return `${objective.name} ${quantity(objective, first)} to ${quantity(objective, second)}`;
    })
    .join(", ");
}

function proofWords(certificate) {
  const count = certificate.boxes.toLocaleString("en");
  const boxes = `${count} ${certificate.boxes === 1 ? "box" : "boxes"} of commands bounded`;
  if (certificate.status === "infeasible") return `no command of the region does it; ${boxes}`;
  return `no command closer than ${short(certificate.lower)} does it; ${boxes}`;
}

function exports(state, result) {
  const name = `${state.agent.name}-${state.time}-${state.agent.actions[state.foil]}`;
  const lines = button("Copy the Python lines", () => copy(result.python, lines));
  return [
    result.python && lines,
    button("Save as JSON", () => save(`${name}.json`, JSON.stringify(result.answer, null, 1), "application/json")),
  ];
}
