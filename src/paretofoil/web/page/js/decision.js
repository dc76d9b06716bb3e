/** The decision of the current step: what it does, what it has and still needs, and the other actions. */

import { canAnswer } from "./api.js";
import { colourOf } from "./colours.js";
import { questionOf } from "./controller.js";
import { button, el, refill, withHiddenText } from "./dom.js";
import { isSaved } from "./saved.js";
import { amountsTable, endingText } from "./stage.js";
import { createAmountForm } from "./amount_form.js";
import { createOutcomeForm } from "./outcome_form.js";
import { DEFAULT_SETTINGS, cellsOf, decisionOf } from "./state.js";
import { badge, whatChanges, doing, percent, sign } from "./text.js";

/** Actions, at most, of which all have a row of their own; of more, only the valid ones have one. */
const ROWS = 8;

/** @param {import("./state.js").Store} store */
export function createDecision(scope, store, controller) {
  const root = el("section", { class: "card decision", "aria-label": "The decision" });
  const head = el("div", {});
  const { agent } = store.get();
  const isContinuous = agent.amounts !== null;
  const list = el("ul", { class: isContinuous ? "actions of-amounts" : "actions" });
  const hint = el(
    "p",
    { class: "small ask-hint" },
    isContinuous ? "“More” and “less” mean a tenth of the range. " : "The bars show how likely each action is. ",
    `Ask “Why not?” to see the smallest change of ${agent.observation ? `the ${whatChanges(agent)}` : "your command"} that `,
    "would have made it do that instead.",
  );
  root.append(head, list, isContinuous && !isSaved() ? createAmountForm(scope, store, controller) : "", hint);
  if (!agent.observation) root.append(createOutcomeForm(scope, store, controller));
  scope.draw(["foil", "arrived"], ({ foil, arrived }) => (hint.hidden = foil !== null || arrived || isSaved()));
  scope.draw(["step", "episode", "arrived"], (state) => refill(head, heading(state)));
  scope.draw(["step", "episode", "foil", "precomputed", "flips"], (state) => fill(list, state, controller));
  return root;
}

function heading(state) {
  const { agent, episode, step, arrived } = state;
  const decision = decisionOf(state);
  const arrow = agent.amounts ? "" : sign(agent.actions[decision.action]);
  if (arrived) return [el("p", { class: "over" }, "The end"), el("h2", { class: "outcome" }, endingText(episode))];
  const what = el("h2", {}, `It ${doing(agent, decision)} ${arrow}`.trim());
  if (agent.observation) return [el("p", { class: "over" }, "In this state"), what];
  return [
    el("p", { class: "over" }, `Step ${step + 1} of ${episode.decisions.length}`),
    what,
    amounts(agent, decision),
  ];
}

/** Return what it has so far, still needs, and was asked for in all: three numbers that add up. */
function amounts(agent, decision) {
  if (agent.space.kind === "simplex")
    return el("p", { class: "command" }, "Your preferences: ", el("strong", {}, decision.command_text), ".");
  return amountsTable(["so far", "still to get", "asked for in all"], agent.objectives, (i) => {
    const [had, left] = [decision.collected[i] ?? 0, decision.command[i]];
    return [had, left, had + left];
  });
}

/** Update the rows in place: a row stays where it is while the film plays, and keeps the focus. */
function fill(list, state, controller) {
  const { agent, foil } = state;
  const decision = decisionOf(state);
  const impossible = impossibleFoils(state);
  const shown = agent.actions.length <= ROWS ? agent.actions.map((_, action) => action) : decision.valid_actions;
  if (list.dataset.shown !== String(shown)) {
    list.dataset.shown = String(shown);
    refill(
      list,
      shown.map((action) => row(agent, action, controller)),
      el("li", { class: "note" }, agent.amounts ? "Nothing else is possible here." : "This is the only possible action here."),
    );
  }
  for (const item of /** @type {Iterable<HTMLElement>} */ (list.querySelectorAll("li.action")))
    update(item, state, decision, impossible, Number(item.dataset.action) === foil);
  /** @type {HTMLElement} */ (list.lastElementChild).hidden = decision.valid_actions.length > (agent.amounts ? 0 : 1);
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

function row(agent, action, controller) {
  const name = agent.actions[action];
  return el(
    "li",
    { class: "action", "data-action": action },
    el(
      "span",
      { class: "swatch", "aria-hidden": "true", vars: { "--colour": colourOf(action) } },
      badge(name),
    ),
    el("span", { class: "action-name" }, name),
    el("span", { class: "bar" }, el("span", { class: "fill", vars: { "--colour": colourOf(action) } })),
    el("span", { class: "share" }),
    button("", () => controller.ask(action), { class: "why" }),
    el("span", { class: "does" }),
  );
}

function update(item, state, decision, impossible, isFoil) {
  const action = Number(item.dataset.action);
  const name = state.agent.actions[action];
  const valid = decision.valid_actions.includes(action);
  const chosen = action === decision.action;
  const why = item.querySelector("button");
  const does = item.querySelector(".does");
  const asks = valid && !chosen && canAnswer(questionOf(state, action, DEFAULT_SETTINGS));
  item.classList.toggle("chosen", chosen);
  item.classList.toggle("barred", !valid);
  item.classList.toggle("asked", isFoil);
  const share = valid && !decision.amounts ? decision.probabilities[action] : null;
  item.querySelector(".fill").style.setProperty("--share", String(share ?? 0));
  item.querySelector(".share").textContent = share === null ? "" : percent(share);
  why.hidden = !asks;
  does.hidden = asks;
  does.textContent = chosen ? "chosen" : valid ? "no answer saved" : "not possible";
  const never = impossible.has(action);
  why.className = never ? "why impossible" : "why";
  why.title = never
    ? `Proven: no ${whatChanges(state.agent)} in the search region makes the agent choose ${name} here`
    : `Why not ${name}?`;
  why.setAttribute("aria-pressed", String(isFoil));
  why.replaceChildren(
    never
      ? withHiddenText(`${name}: `, "never here", " (proven). Why not?")
      : withHiddenText(`${name}: `, "Why not?", ""),
  );
}
