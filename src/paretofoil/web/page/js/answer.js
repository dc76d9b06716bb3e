/** The answer: a sentence, the change as bars, what it rests on, and what can be done with it. */

import { changePicture } from "./change.js";
import { announce, button, el, kindly, refill } from "./dom.js";
import { answerDetails } from "./answer_details.js";
import { wishes } from "./words.js";

/** What is known of an answer beyond itself; a quoted command is rounded, so that a smaller change may well be near. */
function sealOf(answer) {
  const restricted = ["kept", "held", "free"].some((name) => answer.question[name].length);
  const within = restricted ? " under these restrictions" : "";
  if (answer.status === "proven infeasible") return ["never", `Proven: no wish in its range does it${within}`];
  if (answer.status === "not found") return ["open", "Not found; nothing is proven"];
  if (answer.status === "found" || !(answer.lower_bound > 0)) return ["open", "Found; a smaller change may exist"];
  const larger = Math.max(0, answer.quoted.distance / answer.lower_bound - 1);
  return ["proven", `Proven: at most ${percentUp(larger)} larger than the smallest change${within}`];
}

/** A share in percent, rounded up: what is proven must stay true. */
function percentUp(share) {
  return `${Math.ceil(1000 * share - 1e-9) / 10} %`;
}

/** @param {import("./state.js").Store} store */
export function createAnswer(scope, store, journey) {
  const root = el("section", { class: "card answer", "aria-label": "The answer", "aria-busy": "false" });
  scope.draw(["answer"], (state) => {
    const { status } = state.answer;
    root.hidden = status === "idle";
    root.setAttribute("aria-busy", String(status === "waiting"));
    if (status === "waiting" && root.dataset.status === "waiting") return progress(root, state.answer.progress);
    root.dataset.status = status;
    refill(root, parts(state, journey));
  });
  scope.draw(["shown"], ({ shown }) => {
    for (const show of root.querySelectorAll("button.show")) show.disabled = shown?.status === "waiting";
  });
  return root;
}

function parts(state, journey) {
  const { agent, foil, answer } = state;
  if (answer.status === "idle") return [];
  const question = el("h2", {}, `Why not ${agent.actions[foil]}?`);
  if (answer.status === "waiting") return [question, waiting(answer.progress, journey)];
  if (answer.status === "cancelled") return [question, el("p", {}, "The search was cancelled."), again(foil, journey)];
  if (answer.status === "failed") return [question, kindly(answer.error, () => journey.ask(foil))];
  return [question, ...told(state, journey)];
}

function waiting(share, journey) {
  announce("Searching …");
  return el(
    "div",
    { class: "waiting" },
    el("progress", { max: 1, value: share, "aria-label": "The search" }),
    el("p", {}, "Looking for the smallest change of your wish …"),
    button("Cancel", journey.cancel, { class: "cancel" }),
  );
}

function progress(root, share) {
  if (share !== null) root.querySelector("progress")?.setAttribute("value", share);
}

function again(foil, journey) {
  return button("Ask again", () => journey.ask(foil));
}

/** What an answer says: shared with the comparison of two. */
export function answerBody(agent, result) {
  const { answer } = result;
  const [kind, words] = sealOf(answer);
  return [
    el("p", { class: "sentence" }, result.sentence || answer.sentence),
    answer.quoted && changePicture(agent.objectives, answer.question.command, answer.quoted.command),
    el("p", { class: `seal ${kind}` }, words),
  ];
}

function told(state, journey) {
  const {
    agent,
    answer: { result },
  } = state;
  const { answer } = result;
  announce(result.sentence || answer.sentence);
  return [
    ...answerBody(agent, result),
    answer.quoted &&
      el(
        "div",
        { class: "deeds" },
        button("Show me", () => journey.showMe(answer.quoted.command, "answer"), {
          class: "primary show",
          title: "Issue this wish now, and watch",
        }),
        button("See it on the map", () => journey.explore("space"), {}),
      ),
    attainable(agent, answer, journey),
    alternatives(agent, answer, journey),
    answerDetails(state, result),
  ];
}

/** A wish that also delivers what it asks for, where one is known; `asked` is what it asks of the whole episode. */
function attainable(agent, answer, journey) {
  const best = answer.rollouts?.attainable;
  if (!best) return null;
  if (!best.command) {
    const words = `No wish is known that leads there and then delivers what it asks for; ${best.tried} tried.`;
    return el("p", { class: "small" }, words);
  }
  const nearly = best.missed > 1e-9 ? "nearly " : "";
  const same = answer.quoted && best.command.every((x, i) => Math.abs(x - answer.quoted.command[i]) < 1e-9);
  return el(
    "div",
    { class: "attainable" },
    el("h3", {}, "A wish that delivers"),
    el(
      "p",
      {},
      same
        ? `That very wish also delivers ${nearly}what it asks for.`
        : `To really get it: ask for ${wishes(agent.objectives, best.asked, 10)} in all. ` +
            `Rolled out, it delivers ${nearly}that.`,
    ),
    !same && changePicture(agent.objectives, answer.question.command, best.command, "ask for"),
    !same && button("Show me", () => journey.showMe(best.command, "attainable"), { class: "show" }),
  );
}

function alternatives(agent, answer, journey) {
  if (!answer.alternatives?.length) return null;
  return el(
    "div",
    { class: "alternatives" },
    el("h3", {}, "Or"),
    answer.alternatives.map((other) =>
      el(
        "div",
        {},
        el("p", {}, other.sentence),
        other.quoted && changePicture(agent.objectives, other.question.command, other.quoted.command),
        other.quoted && button("Show me", () => journey.showMe(other.quoted.command, "answer"), { class: "show" }),
      ),
    ),
  );
}
