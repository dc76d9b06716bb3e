/** What explains an agent in a study: counterfactuals, with or without what is proven of them, and influence. */

import { answerBody } from "./answer.js";
import { rangeWords } from "./answer_details.js";
import { changePicture } from "./change.js";
import { el, refill } from "./dom.js";
import { influenceProfile } from "./influence.js";

/**
 * @param {{agent: Object, explained: Object[], answers: Object[], moments: Object[]}} gathered
 * @param {string[]} shows
 */
export function explanations(gathered, shows) {
  const { agent, explained, answers, moments } = gathered;
  const proofs = shows.includes("proofs");
  return [
    ...explained.map(({ time, foil }, i) =>
      el(
        "section",
        { class: "card answer" },
        el("h2", {}, `At step ${time + 1}: why not ${foil}?`),
        proofs ? proven(agent, answers[i]) : plain(agent, answers[i]),
      ),
    ),
    moments.length > 0 &&
      el(
        "section",
        { class: "card answer" },
        el("h2", {}, "Does the wish matter?"),
        el("p", { class: "small" }, "At each step: of all wishes, how many lead to which action."),
        profile(agent, moments),
      ),
  ];
}

/** The profile with one moment in words, at first the last; others can be picked. */
function profile(agent, moments) {
  const root = el("div", {});
  const draw = (time) => refill(root, influenceProfile({ agent, time }, moments, pick));
  const pick = (time) => (draw(time), root.querySelector(".column.now").focus());
  draw(moments.at(-1).time);
  return root;
}

function proven(agent, result) {
  const { proven_range: range } = result.answer;
  return [
    ...answerBody(agent, result),
    range && el("p", { class: "small" }, `Proven as well for every wish with ${rangeWords(agent, range)}.`),
  ];
}

/** Without the proofs: the sentence of an impossible foil would tell of one, so that it is said in other words. */
function plain(agent, { sentence, answer }) {
  if (!answer.quoted) return el("p", { class: "sentence" }, "No change of the wish that leads there was found.");
  return [el("p", { class: "sentence" }, sentence), changePicture(agent.objectives, answer.question.command, answer.quoted.command)];
}
