/** The answer: its sentence, the change as bars, what is proven, and what to do with it. */

import { announce, bringIntoView, button, el, errorBox, refill } from "./dom.js";
import { answerDetails, changePicture } from "./answer_details.js";
import { deliveredOutcome, easierOutcomes, foilName, outcomeWords } from "./outcome.js";
import { isSaved } from "./saved.js";
import { whatChanges, commandText, plainNumbers, present } from "./text.js";

/** The longest time limit of a question, in seconds. */
const LONGEST = 60;

/** Return what is proven about an answer. The quoted command is rounded: a slightly smaller change may exist. */
function proofLabel(agent, answer) {
  const restricted = ["kept", "held", "free"].some((name) => answer.question[name].length);
  const within = restricted ? " with these options" : "";
  if (answer.status === "proven infeasible")
    return ["never", `Proven for every ${whatChanges(agent)} in the search region${within}`];
  const bound = answer.lower_bound > 0 && `${percentDown(answer.lower_bound)} of the ranges`;
  if (answer.status === "not found")
    return ["open", bound ? `Not found. No change smaller than ${bound} works (proven)` : "Not found. Nothing is proven"];
  if (answer.status === "found")
    return ["open", `Found. A smaller change may exist${bound ? `, but none smaller than ${bound} (proven)` : ""}`];
  if (!bound) return ["open", "Found. A smaller change may exist"];
  const smaller = 1 - answer.lower_bound / answer.quoted.distance;
  if (smaller <= 0) return ["proven", `Proven: no smaller change works${within}`];
  return ["proven", `Proven: no change that is more than ${percentUp(smaller)} smaller works${within}`];
}

/** Return a share in percent, rounded up to two digits, as the sentence does: a proven bound must stay true. */
function percentUp(share) {
  return percent(Math.max(share, 1e-4), Math.ceil);
}

/** Return a share in percent, rounded down to two digits. */
function percentDown(share) {
  return percent(share, Math.floor);
}

function percent(share, round) {
  const unit = 10 ** (Math.floor(Math.log10(100 * share)) - 1);
  return `${Number((round((100 * share) / unit) * unit).toPrecision(2))} %`;
}

/** @param {import("./state.js").Store} store */
export function createAnswer(scope, store, controller) {
  const root = el("section", { class: "card answer", "aria-label": "The answer", "aria-busy": "false" });
  const closest = el("div", { class: "closest-outcome" });
  scope.draw(["answer"], (state) => {
    const { status } = state.answer;
    root.hidden = status === "idle";
    root.setAttribute("aria-busy", String(status === "waiting"));
    if (status === "waiting" && root.dataset.status === "waiting") return progress(root, state.answer.progress);
    root.dataset.status = status;
    refill(root, parts(state, controller, closest));
    refill(closest, closestPart(state, controller));
    const inPanel = document.activeElement?.closest(".explore"); // the user changes options below
    if ((status === "waiting" || status === "done") && !inPanel) bringIntoView(root);
  });
  scope.draw(["precomputed"], (state) => refill(closest, closestPart(state, controller)));
  scope.draw(["rollout"], ({ rollout }) => {
    for (const show of /** @type {NodeListOf<HTMLButtonElement>} */ (root.querySelectorAll("button.show")))
      show.disabled = rollout?.status === "waiting";
  });
  return root;
}

function parts(state, controller, closest) {
  const { agent, foil, answer } = state;
  if (answer.status === "idle") return [];
  const question = el("h2", {}, `Why not ${foilName(agent, foil)}?`);
  if (answer.status === "waiting") return [question, waiting(agent, answer.progress, controller)];
  if (answer.status === "cancelled")
    return [question, el("p", {}, "The search was cancelled."), again(foil, controller)];
  if (answer.status === "failed") return [question, failure(state, controller)];
  return [question, ...finished(state, controller, closest)];
}

/** Return why a question failed. An outcome may be typed: then the message says what is wrong with it. */
function failure({ foil, answer: { error } }, controller) {
  const typed = typeof foil === "object" && error.status === 422;
  return typed
    ? errorBox(error.message.replace(/^./, (first) => first.toUpperCase()))
    : errorBox(error, () => controller.ask(foil));
}

function waiting(agent, share, controller) {
  announce("Searching …");
  return el(
    "div",
    { class: "waiting" },
    el("progress", { max: 1, value: share, "aria-label": "Progress of the search" }),
    el("p", {}, `Searching for the smallest change of the ${whatChanges(agent)} …`),
    button("Cancel", controller.cancel, { class: "cancel" }),
  );
}

function progress(root, share) {
  if (share !== null) root.querySelector("progress")?.setAttribute("value", share);
}

function again(foil, controller) {
  return button("Ask again", () => controller.ask(foil));
}

/** Return the library's sentence with short numbers. That of an impossible foil is in the details, with its margin. */
function sentenceOf(agent, { sentence, answer }) {
  const { outcome } = answer.question;
  if (outcome) return plainNumbers(sentence.replace(`"${outcome}"`, `“${outcomeWords(agent, outcome)}”`));
  if (answer.status !== "proven infeasible" || answer.question.foil === null || agent.observation)
    return plainNumbers(sentence || answer.sentence);
  return `Nothing that you can ask for makes the agent choose ${answer.question.actions[answer.question.foil]} here.`;
}

/** Return the main parts of an answer, which the comparison shows, too. */
export function answerParts(agent, result) {
  const { answer } = result;
  const [kind, label] = proofLabel(agent, answer);
  return [
    el("p", { class: "sentence" }, sentenceOf(agent, result)),
    answer.quoted && changePicture(agent, answer.question.command, answer.quoted.command),
    endOf(agent, result),
    el("p", { class: `proof ${kind}` }, label),
  ];
}

/** Return how the episode ends with the quoted command of an outcome, or in how many runs it meets the outcome. */
function endOf(agent, { answer, runs }) {
  const end = answer.question.outcome && answer.quoted && answer.rollouts?.quoted;
  if (!end) return null;
  const what = runs ? plainNumbers(runs) : `the episode ends with ${commandText(agent.returns, end.achieved)}`;
  return el("p", { class: "small" }, `With this command, ${what}.`);
}

function finished(state, controller, closest) {
  const {
    agent,
    answer: { result },
  } = state;
  const { answer } = result;
  announce(sentenceOf(agent, result));
  return [
    ...answerParts(agent, result),
    answer.quoted &&
      el(
        "div",
        { class: "buttons" },
        !agent.observation &&
          button("Show me", () => controller.showRollout(answer.quoted.command, "answer"), {
            class: "primary show",
            title: "Issue this command now, and watch the rest of the episode",
          }),
        agent.objectives.length > 1 && button("Show on the map", () => bringIntoView(document.querySelector("canvas.space"), "center")),
      ),
    !answer.quoted && (answer.question.outcome ? easier(state, controller) : nextSteps(state, controller, closest)),
    answer.question.outcome && longer(state, controller),
    answer.question.outcome && answer.quoted && delivered(state, controller),
    attainable(agent, answer, controller),
    alternatives(agent, answer, controller),
    answerDetails(state, result),
  ];
}

/** Return what to do if no command leads to the outcome: ask earlier in the episode, or for less. */
function easier({ agent, foil, step }, controller) {
  if (isSaved()) return null;
  const others = easierOutcomes(agent, foil.outcome).map(({ outcome, label }) =>
    button(label, () => controller.askAt(step, { ...foil, outcome }), { class: "easier" }),
  );
  const earlier = step > 0 && button("Ask from the start", () => controller.askAt(0, foil), { class: "primary" });
  const note = !others.length && !earlier && el("p", {}, "Try another outcome in the form above.");
  return el("div", { class: "next-steps" }, earlier, others, note);
}

/** Return a button that asks for a command with the outcome whose episode also brings what the command asks for. */
function delivered({ agent, foil, step, answer: { result } }, controller) {
  const outcome = deliveredOutcome(agent, foil.outcome);
  const { quoted, rollouts, question } = result.answer;
  const brings = rollouts?.quoted.achieved.every((x, i) => {
    const asked = quoted.command[i] + (question.collected?.[i] ?? 0);
    return Math.abs(x - asked) <= 0.01 * agent.space.scale[i];
  });
  if (!outcome || brings || isSaved()) return null;
  return el(
    "div",
    { class: "attainable" },
    el("p", {}, "With this command, the agent does not get exactly what you ask for."),
    button("Find a command it can fulfil", () => controller.askAt(step, { ...foil, outcome })),
  );
}

/** Return a button that searches longer, if the time limit ended the search. */
function longer({ answer: { result }, settings }, controller) {
  const over = result.answer.search.stop === "out of time" && (settings.seconds ?? 0) < LONGEST && !isSaved();
  return over && button("Search for up to a minute", () => controller.setSettings({ seconds: LONGEST }));
}

/** Return what to do if no command leads to the foil: another step, or the closest outcome that can be reached here. */
function nextSteps(state, controller, closest) {
  const { agent, foil } = state;
  if (agent.observation) return null;
  const note = el("p", { class: "small", role: "status" });
  const look = button(
    `Find a step at which a command makes it choose ${foilName(agent, foil)}`,
    async () => {
      look.disabled = true;
      note.textContent = "Looking at the other steps …";
      const found = await controller
        .findOtherStep(foil)
        .catch((error) => (note.replaceChildren(errorBox(error)), true));
      if (!found) note.textContent = "No step was found. Start an episode with another command to see other steps.";
      look.disabled = false;
    },
    { class: "primary look" },
  );
  return el("div", { class: "next-steps" }, closest, !isSaved() && typeof foil === "number" && look, note);
}

/** Return the smallest change that makes the agent do something else here, with its outcome, and a button that asks. */
function closestPart({ agent, precomputed, answer }, controller) {
  if (answer.status !== "done" || answer.result.answer.quoted) return null;
  const found = Object.entries(precomputed)
    .map(([action, { answer: other }]) => ({ action: Number(action), ...other }))
    .filter(({ quoted }) => quoted)
    .sort((a, b) => a.quoted.distance - b.quoted.distance)[0];
  if (!found) return null;
  const { achieved } = found.rollouts?.quoted ?? {};
  const asked = plainNumbers(commandText(agent.objectives, found.quoted.command));
  const ends = achieved && !agent.stochastic && agent.space.kind !== "simplex";
  const rest = ends && achieved.map((x, i) => Number((x - (found.question.collected?.[i] ?? 0)).toPrecision(10)));
  const outcome = ends ? ` and gets ${plainNumbers(commandText(agent.objectives, rest))}` : "";
  const does = agent.amounts ? `chooses ${found.question.actions[0]}` : present(agent, found.action);
  const then = plainNumbers(`It then ${does}${outcome}.`);
  return [
    el("p", {}, `You can get another action here: ask for ${asked}${laterText(found)}. ${then}`),
    button(`Why not ${agent.actions[found.action]}?`, () => controller.ask(found.action)),
  ];
}

/** Return words for amounts that count from the step of a question. */
function laterText({ question }) {
  return question.collected ? " from here on" : "";
}

/** Return the attainable command: one whose rollout delivers what it asks for. */
function attainable(agent, answer, controller) {
  const best = answer.rollouts?.attainable;
  if (!best) return null;
  if (!best.command) {
    const text = best.proven_none
      ? "No command makes the agent do this and then delivers what it asks for (proven)."
      : `No attainable command was found: none of ${best.num_rollouts} that were tried leads to this action and ` +
        "delivers what it asks for.";
    return el("p", { class: "small" }, text);
  }
  const nearly = best.deviation > 1e-9 ? "nearly " : "";
  const same = answer.quoted && best.command.every((x, i) => Math.abs(x - answer.quoted.command[i]) < 1e-9);
  return el(
    "div",
    { class: "attainable" },
    el("h3", {}, "Attainable command"),
    el(
      "p",
      {},
      same
        ? `If you ask for this, the agent delivers ${nearly || "exactly "}that.`
        : `To get what you ask for, ask for ${plainNumbers(commandText(agent.objectives, best.command, 10))}` +
            `${laterText(answer)}: the agent then delivers ${nearly || "exactly "}that.`,
    ),
    !same && changePicture(agent, answer.question.command, best.command, "attainable command"),
    !same && button("Show me", () => controller.showRollout(best.command, "attainable"), { class: "show" }),
  );
}

function alternatives(agent, answer, controller) {
  const others = [...(answer.alternatives ?? []), ...(answer.other_norms ?? [])];
  if (!others.length) return null;
  return el(
    "div",
    { class: "alternatives" },
    el("h3", {}, "Alternatives"),
    others.map((other) =>
      el(
        "div",
        {},
        other.question.norm !== answer.question.norm &&
          el("p", { class: "small" }, "Proven to be the closest if only the largest of its changes counts:"),
        el("p", {}, other.sentence),
        other.quoted && changePicture(agent, other.question.command, other.quoted.command),
        other.quoted &&
          !agent.observation &&
          button("Show me", () => controller.showRollout(other.quoted.command, "answer"), { class: "show" }),
      ),
    ),
  );
}
