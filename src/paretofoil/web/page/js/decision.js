/** The decision of the current step: the command, the chosen action, and the other valid actions. */

import { colourOf } from "./colours.js";
import { button, el, refill, withHiddenText } from "./dom.js";
import { cellsOf, decisionOf } from "./state.js";
import { percent, sign } from "./text.js";

/** @param {import("./state.js").Store} store */
export function createDecision(scope, store, controller) {
  const root = el("section", { class: "card decision", "aria-label": "The decision" });
  const head = el("div", {});
  const list = el("ul", { class: "actions" });
  root.append(head, list);
  scope.draw(["step", "episode"], (state) => refill(head, heading(state)));
  scope.draw(["step", "episode", "foil", "precomputed", "flips"], (state) => fill(list, state, controller));
  return root;
}

function heading(state) {
  const { agent, episode, step } = state;
  const decision = decisionOf(state);
  const last = step === episode.decisions.length - 1;
  return [
    el("p", { class: "over" }, `Step ${step + 1} of ${episode.decisions.length}`),
    el("h2", {}, `It ${actionPhrase(agent, decision.action)}`),
    el(
      "p",
      { class: "command" },
      step ? "Still to get: " : "You asked for: ",
      el("strong", {}, decision.command_text),
      ".",
    ),
    last && el("p", { class: "outcome" }, endingText(episode)),
  ];
}

/** Return "goes right →" or "chooses “mine”". Only moves have a verb that fits every environment. */
function actionPhrase(agent, action) {
  const name = agent.actions[action];
  return sign(name) ? `goes ${name} ${sign(name)}` : `chooses “${name}”`;
}

function endingText(episode) {
  const end = `The episode ends with ${episode.achieved_text}`;
  if (episode.delivered === null) return `${end}.`; // preferences ask for no return
  return episode.delivered ? `${end}, as you asked.` : `${end}. You asked for ${episode.command_text}.`;
}

/** Update the rows. They are kept while only their marks change, which keeps the focus. */
function fill(list, state, controller) {
  const { agent, foil, step, episode } = state;
  const impossible = impossibleFoils(state);
  const decision = decisionOf(state);
  const key = `${episode.command}/${step}/${[...impossible]}`;
  if (list.dataset.key !== key) {
    const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    list.dataset.key = key;
    refill(
      list,
      decision.valid_actions.map((action) => row(agent, decision, action, impossible.has(action), controller)),
      decision.valid_actions.length === 1 && el("li", { class: "note" }, "This is the only valid action here."),
    );
    if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
  }
  for (const item of list.children) {
    item.classList.toggle("asked", Number(item.dataset.action) === foil);
    item.querySelector("button")?.setAttribute("aria-pressed", String(Number(item.dataset.action) === foil));
  }
}

/** Return the foils that are proven impossible at this step, from single answers and from the flip map. */
function impossibleFoils({ precomputed, flips, step }) {
  const single = Object.entries(precomputed).map(([foil, { answer }]) => ({
    foil: Number(foil),
    status: answer.status,
  }));
  const cells = cellsOf(flips).filter((cell) => cell.step === step);
  return new Set([...single, ...cells].filter(({ status }) => status === "proven infeasible").map(({ foil }) => foil));
}

function row(agent, decision, action, impossible, controller) {
  const name = agent.actions[action];
  const chosen = action === decision.action;
  const share = decision.probabilities[action];
  return el(
    "li",
    { class: `action${chosen ? " chosen" : ""}`, "data-action": action },
    el(
      "span",
      { class: "swatch", "aria-hidden": "true", vars: { "--colour": colourOf(action) } },
      sign(name) || name.charAt(0),
    ),
    el("span", { class: "action-name" }, name),
    el(
      "span",
      { class: "bar" },
      el("span", { class: "fill", vars: { "--share": share, "--colour": colourOf(action) } }),
    ),
    el("span", { class: "share" }, percent(share)),
    chosen ? el("span", { class: "does" }, "chosen") : whyNotButton(name, action, impossible, controller),
  );
}

function whyNotButton(name, action, impossible, controller) {
  const label = impossible
    ? withHiddenText(`${name}: `, "never here", " (proven). Why not?")
    : withHiddenText(`${name}: `, "Why not?", "");
  return button(label, () => controller.ask(action), {
    class: impossible ? "why impossible" : "why",
    title: impossible
      ? `Proven: no command in the search region makes the agent choose ${name} here`
      : `Why not ${name}?`,
  });
}
