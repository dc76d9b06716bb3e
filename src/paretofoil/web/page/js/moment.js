/** The moment: what is still wished for, what the agent does about it, and what it could have done instead. */

import { colourOf } from "./colours.js";
import { button, el, refill, spoken } from "./dom.js";
import { cellsOf, decisionOf } from "./state.js";
import { percent, sign } from "./words.js";

/** @param {import("./state.js").Store} store */
export function createMoment(scope, store, journey) {
  const root = el("section", { class: "card moment", "aria-label": "The moment" });
  const head = el("div", {});
  const list = el("ul", { class: "actions" });
  root.append(head, list);
  scope.draw(["time", "episode"], (state) => refill(head, heading(state)));
  scope.draw(["time", "episode", "foil", "foreseen", "flips"], (state) => fill(list, state, journey));
  return root;
}

function heading(state) {
  const { agent, episode, time } = state;
  const decision = decisionOf(state);
  const last = time === episode.decisions.length - 1;
  return [
    el("p", { class: "over" }, `Step ${time + 1} of ${episode.decisions.length}`),
    el("h2", {}, `It ${doing(agent, decision.action)}`),
    el(
      "p",
      { class: "wish" },
      time ? "Still to get: " : "You asked for: ",
      el("strong", {}, decision.command_text),
      ".",
    ),
    last && el("p", { class: "outcome" }, outcomeOf(episode)),
  ];
}

/** "goes right", or "chooses to mine": only moves have a verb that fits all worlds. */
function doing(agent, action) {
  const name = agent.actions[action];
  return sign(name) ? `goes ${name} ${sign(name)}` : `chooses “${name}”`;
}

function outcomeOf(episode) {
  const got = `The end: it gets ${episode.achieved_text}`;
  if (episode.delivered === null) return `${got}.`; // preferences ask for no returns
  return episode.delivered ? `${got}, as you asked.` : `${got}; you had asked for ${episode.command_text}.`;
}

/** Rows are kept while only their marks change, so that focus stays where it is. */
function fill(list, state, journey) {
  const { agent, foil, time, episode } = state;
  const never = impossibleAt(state);
  const decision = decisionOf(state);
  const key = `${episode.command}/${time}/${[...never]}`;
  if (list.dataset.key !== key) {
    const focused = [...list.querySelectorAll("button")].indexOf(document.activeElement);
    list.dataset.key = key;
    refill(
      list,
      decision.valid_actions.map((action) => row(agent, decision, action, never.has(action), journey)),
      decision.valid_actions.length === 1 && el("li", { class: "note" }, "There is nothing else it could do here."),
    );
    if (focused >= 0) list.querySelectorAll("button")[focused]?.focus();
  }
  for (const item of list.children) {
    item.classList.toggle("asked", Number(item.dataset.action) === foil);
    item.querySelector("button")?.setAttribute("aria-pressed", String(Number(item.dataset.action) === foil));
  }
}

/** The foils that are known to be impossible here, from whichever question was answered first. */
function impossibleAt({ foreseen, flips, time }) {
  const asked = Object.entries(foreseen).map(([foil, { answer }]) => ({ foil: Number(foil), status: answer.status }));
  const mapped = cellsOf(flips).filter((cell) => cell.step === time);
  return new Set(
    [...asked, ...mapped].filter(({ status }) => status === "proven infeasible").map(({ foil }) => foil),
  );
}

function row(agent, decision, action, impossible, journey) {
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
    chosen ? el("span", { class: "does" }, "does this") : whyNot(name, action, impossible, journey),
  );
}

function whyNot(name, action, impossible, journey) {
  const words = impossible
    ? spoken(`${name}: `, "never here", " as is proven. Why not?")
    : spoken(`${name}: `, "Why not?", "");
  return button(words, () => journey.ask(action), {
    class: impossible ? "why impossible" : "why",
    title: impossible ? `Proven: no wish in the agent's range leads to ${name} here` : `Why not ${name}?`,
  });
}
