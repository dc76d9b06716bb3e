/** The explanations of a user study: counterfactuals, with or without proofs, and influence. */

import { answerParts } from "./answer.js";
import { changePicture, rangeText } from "./answer_details.js";
import { el, refill } from "./dom.js";
import { influenceProfile } from "./influence.js";

/**
 * @param {{agent: Agent, explained: Object[], answers: AnswerResult[], influences: InfluenceStep[]}} loaded
 * @param {string[]} shows
 */
export function explanations(loaded, shows) {
  const { agent, explained, answers, influences } = loaded;
  const proofs = shows.includes("proofs");
  return [
    ...explained.map(({ step, foil }, i) =>
      el(
        "section",
        { class: "card answer" },
        el("h2", {}, `At step ${step + 1}: why not ${foil}?`),
        proofs ? proven(agent, answers[i]) : plain(agent, answers[i]),
      ),
    ),
    influences.length > 0 &&
      el(
        "section",
        { class: "card answer" },
        el("h2", {}, "Does the command matter?"),
        el("p", { class: "small" }, "For each step: the share of commands that lead to each action."),
        profile(agent, influences),
      ),
  ];
}

/** Return the profile with a sentence about one step, at first the last one. */
function profile(agent, influences) {
  const root = el("div", {});
  const draw = (step) => refill(root, influenceProfile({ agent, step }, influences, pick));
  const pick = (step) => {
    draw(step);
    /** @type {HTMLElement} */ (root.querySelector(".column.now")).focus();
  };
  draw(influences.at(-1).step);
  return root;
}

function proven(agent, result) {
  const { proven_range: range } = result.answer;
  return [
    ...answerParts(agent, result),
    range && el("p", { class: "small" }, `Every command in this range has the same effect (proven): ${rangeText(agent, range)}.`),
  ];
}

/** Return an answer without its proof: the sentence about an impossible foil would mention one. */
function plain(agent, { sentence, answer }) {
  if (!answer.quoted) return el("p", { class: "sentence" }, "No command that leads to this action was found.");
  return [
    el("p", { class: "sentence" }, sentence),
    changePicture(agent, answer.question.command, answer.quoted.command),
  ];
}
