/** The three tasks: predict the action, choose the agent, set the wish so that the foil happens. */

import { createCommandSpace } from "./command_space.js";
import { el } from "./dom.js";
import { goalRow } from "./goals.js";
import { createJourney } from "./journey.js";
import { regionOf } from "./region.js";
import { commandSliders } from "./sliders.js";
import { createScope, createStore } from "./state.js";
import { createChoice } from "./study_choice.js";
import { explanations } from "./study_explained.js";
import { createFilm } from "./study_film.js";
import { signed, wishes } from "./words.js";

const LETTERS = ["A", "B"];

/** What will it do next? */
export function createPredict(step, [gathered], shows, scope) {
  const { agent, film, episode } = gathered;
  const { valid_actions: valid } = episode.decisions[film.until];
  const options = valid.map((action) => ({
    value: agent.actions[action],
    label: signed(agent.actions[action]),
    spoken: agent.actions[action],
  }));
  const choice = createChoice("It will take", options, { class: "card reply" });
  return { ...choice, node: layout(gathered, shows, scope, choice.node), wanted: "Please pick what it will do." };
}

/** Which of the two will serve better? */
export function createChoose(step, gathered, shows, scope) {
  const [{ agent }] = gathered;
  const options = gathered.map(({ film }, i) => ({ value: film.agent, label: `Agent ${LETTERS[i]}` }));
  const choice = createChoice("Your choice", options, { class: "card reply" });
  const columns = gathered.map((one, i) =>
    el(
      "section",
      { class: "strip", "aria-label": `Agent ${LETTERS[i]}` },
      el("h2", {}, `Agent ${LETTERS[i]}`),
      el("p", { class: "small" }, `Asked for ${one.episode.command_text}.`),
      createFilm(one, `agent ${LETTERS[i]}`, scope),
      explanations(one, shows),
    ),
  );
  const node = el(
    "div",
    { class: "task" },
    el("div", { class: "duet" }, columns),
    wishCard("The new wish", agent, step.command),
    choice.node,
  );
  return { ...choice, node, wanted: "Please choose one of the two." };
}

/** Set the wish so that it takes the foil. */
export function createSteer(step, [gathered], shows, scope) {
  const hand = shows.includes("regions") ? mapOfWishes(gathered, scope) : slidersOfWishes(gathered);
  const node = el(
    "section",
    { class: "card reply", "aria-label": "Your wish", tabindex: -1 },
    el("h2", {}, `What is left of the wish, so that it takes ${step.foil}`),
    hand.node,
  );
  return {
    node: layout(gathered, shows, scope, node),
    value: hand.value,
    focus: () => node.querySelector("input, canvas").focus(),
    wanted: "Please change the wish.",
  };
}

function slidersOfWishes({ agent, episode, film }) {
  const decision = episode.decisions[film.until];
  const told = el("p", { class: "own-words" }, wishes(agent.objectives, decision.command));
  let chosen = null;
  const sliders = commandSliders(agent, { ...agent.space, ...regionOf(agent, decision) }, (command) => {
    chosen = command;
    told.textContent = wishes(agent.objectives, command);
  });
  sliders.show(decision.command);
  return { node: el("div", {}, sliders.node, told), value: () => chosen };
}

/** The page's own map, on a state of its own. */
function mapOfWishes({ agent, episode, film }, scope) {
  const store = createStore();
  store.set({ agent, episode, command: film.command, seed: film.seed, time: film.until, view: "episode" });
  const inner = createScope(store);
  scope.onEnd(() => inner.end());
  return { node: createCommandSpace(inner, store, createJourney(store)), value: () => store.get().probe };
}

function layout(gathered, shows, scope, reply) {
  const { agent, film } = gathered;
  return el(
    "div",
    { class: "task one" },
    el("section", { class: "card stage" }, createFilm(gathered, "the agent", scope)),
    el(
      "div",
      { class: "right" },
      wishCard("The wish at the start", agent, film.command),
      explanations(gathered, shows),
    ),
    reply,
  );
}

function wishCard(heading, agent, command) {
  return el(
    "section",
    { class: "card goal wish-card" },
    el("h2", {}, heading),
    el(
      "div",
      { class: "goal-rows" },
      agent.objectives.map((objective, i) => goalRow(agent, objective, command[i], i)),
    ),
  );
}
