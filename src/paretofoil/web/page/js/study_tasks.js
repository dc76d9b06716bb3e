/** The three kinds of tasks: predict the action, choose the agent, change the command so that the foil is chosen. */

import { createCommandSpace } from "./command_space.js";
import { el } from "./dom.js";
import { goalRow } from "./goals.js";
import { createController } from "./controller.js";
import { regionOf } from "./search_region.js";
import { commandSliders } from "./sliders.js";
import { createScope, createStore } from "./state.js";
import { createChoice } from "./study_choice.js";
import { explanations } from "./study_explanations.js";
import { createEpisodeView } from "./study_episode.js";
import { signed, commandText } from "./text.js";

const LETTERS = ["A", "B"];

/** Return the task: what does the agent do next? */
export function createPredict(screen, [loaded], shows, scope) {
  const { agent, watched, episode } = loaded;
  const { valid_actions: valid } = episode.decisions[watched.until];
  const options = valid.map((action) => ({
    value: agent.actions[action],
    label: signed(agent.actions[action]),
    spoken: agent.actions[action],
  }));
  const choice = createChoice("It will choose", options, { class: "card reply" });
  return { ...choice, node: layout(loaded, shows, scope, choice.node), missing: "Please choose an action." };
}

/** Return an attention check: the text says which option to choose. */
export function createCheck(screen) {
  const options = screen.options.map((value) => ({ value, label: value }));
  return { ...createChoice("Your reply", options, { class: "card reply" }), missing: "Please choose an option." };
}

/** Return the task: which agent does better? */
export function createChoose(screen, loaded, shows, scope) {
  const [{ agent }] = loaded;
  const options = loaded.map(({ watched }, i) => ({ value: watched.agent, label: `Agent ${LETTERS[i]}` }));
  const choice = createChoice("Your choice", options, { class: "card reply" });
  const columns = loaded.map((one, i) =>
    el(
      "section",
      { class: "strip", "aria-label": `Agent ${LETTERS[i]}` },
      el("h2", {}, `Agent ${LETTERS[i]}`),
      el("p", { class: "small" }, `Asked for ${one.episode.command_text}.`),
      createEpisodeView(one, `agent ${LETTERS[i]}`, scope),
      explanations(one, shows),
    ),
  );
  const node = el(
    "div",
    { class: "task" },
    el("div", { class: "duet" }, columns),
    commandCard("The new command", agent, screen.command),
    choice.node,
  );
  return { ...choice, node, missing: "Please choose one of the agents." };
}

/** Return the task: change the command so that the agent chooses the foil. */
export function createSteer(screen, [loaded], shows, scope) {
  const input = shows.includes("regions") ? commandMap(loaded, scope) : commandInputs(loaded);
  const node = el(
    "section",
    { class: "card reply", "aria-label": "Your command", tabindex: -1 },
    el("h2", {}, `Change the remaining command to make the agent choose ${screen.foil}`),
    input.node,
  );
  return {
    node: layout(loaded, shows, scope, node),
    value: input.value,
    focus: () => /** @type {HTMLElement} */ (node.querySelector("input, canvas")).focus(),
    missing: "Please change the command.",
  };
}

function commandInputs({ agent, episode, watched }) {
  const decision = episode.decisions[watched.until];
  const text = el("p", { class: "own-command" }, commandText(agent.objectives, decision.command));
  let chosen = null;
  const sliders = commandSliders(agent, { ...agent.space, ...regionOf(agent, decision) }, (command) => {
    chosen = command;
    text.textContent = commandText(agent.objectives, command);
  });
  sliders.show(decision.command);
  return { node: el("div", {}, sliders.node, text), value: () => chosen };
}

/** Return the map of the command space, with a state of its own. */
function commandMap({ agent, episode, watched }, scope) {
  const store = createStore();
  const { command, seed, until: step } = watched;
  store.set({ agent, episode, command, seed, step, view: "episode" });
  const inner = createScope(store);
  scope.onEnd(() => inner.end());
  return { node: createCommandSpace(inner, store, createController(store)), value: () => store.get().probe };
}

function layout(loaded, shows, scope, reply) {
  const { agent, watched } = loaded;
  return el(
    "div",
    { class: "task one" },
    el("section", { class: "card stage" }, createEpisodeView(loaded, "the agent", scope)),
    el(
      "div",
      { class: "right" },
      commandCard("The command at the start", agent, watched.command),
      explanations(loaded, shows),
    ),
    reply,
  );
}

function commandCard(heading, agent, command) {
  return el(
    "section",
    { class: "card goal command-card" },
    el("h2", {}, heading),
    el(
      "div",
      { class: "goal-rows" },
      agent.objectives.map((objective, i) => goalRow(agent, objective, command[i], i)),
    ),
  );
}
