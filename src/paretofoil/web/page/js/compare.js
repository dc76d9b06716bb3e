/** The comparison: another search, or another agent of the same environment under the same command. */

import { rollOut, showPicture, work } from "./api.js";
import { answerParts } from "./answer.js";
import { button, el, errorBox, refill } from "./dom.js";
import { questionOf } from "./controller.js";
import { markOf } from "./colours.js";
import { decisionOf } from "./state.js";
import { doing, percent, commandText, plainNumbers, present, title } from "./text.js";

/** @param {import("./state.js").Store} store */
export function createCompare(scope, store, controller) {
  const choice = el("p", { class: "axis-choice" });
  const columns = el("div", { class: "duet" });
  let request = new AbortController();
  scope.onEnd(() => request.abort());
  scope.draw(["searches", "comparison"], (state) => refill(choice, chooser(state, store)));
  scope.draw(["step", "foil", "answer", "comparison"], (state) => {
    request.abort();
    request = new AbortController();
    drawBoth(columns, state, request.signal, controller);
  });
  return el("div", {}, choice, columns);
}

function chooser(state, store) {
  const agents = (state.agent.siblings || []).map((name) => ({
    label: `the agent ${titleOf(state, name)}`,
    value: { agent: name },
  }));
  const searches = state.searches.map(({ name }) => ({ label: searchName(name), value: { search: name } }));
  const all = [...agents, ...searches];
  const select = el(
    "select",
    {
      id: "compare-with",
      on: { change: () => store.set({ comparison: select.value === "" ? null : all[Number(select.value)].value }) },
    },
    el("option", { value: "" }, "choose …"),
    all.map(({ label, value }, i) =>
      el("option", { value: i, selected: JSON.stringify(value) === JSON.stringify(state.comparison) }, label),
    ),
  );
  return [el("label", { for: "compare-with" }, "Compare with "), select];
}

function drawBoth(columns, state, signal, controller) {
  const { agent, comparison, settings } = state;
  if (!comparison)
    return refill(columns, el("p", { class: "note" }, "Choose another agent of this environment, or another search."));
  const mine = column(titleOf(state, agent.name), searchName(settings.search));
  const other = column(
    titleOf(state, comparison.agent || agent.name),
    searchName(comparison.search || settings.search),
  );
  refill(columns, mine.node, other.node);
  drawMine(mine, state, controller);
  drawOther(other, state, signal).catch((error) => error.name !== "AbortError" && other.show(errorBox(error)));
}

/** Return the name of an agent for people. */
function titleOf({ agents }, name) {
  return agents.find((agent) => agent.name === name)?.title || title(name);
}

function searchName(search) {
  return search === "auto" ? "the automatic search" : `the search ${markOf(search).label}`;
}

function column(name, search) {
  const body = el("div", {}, el("p", { class: "loading" }, "Loading …"));
  return {
    node: el(
      "section",
      { class: "strip", "aria-label": `${name}, ${search}` },
      el("h3", {}, name),
      el("p", { class: "small" }, search),
      body,
    ),
    show: (...parts) => refill(body, ...parts),
  };
}

function drawMine(mine, state, controller) {
  const { agent, answer } = state;
  const decision = decisionOf(state);
  mine.show(
    scene(agent, decision),
    orAskFirst(state, answer.result ? answerParts(agent, answer.result) : waiting(state, controller)),
  );
}

function waiting(state, controller) {
  return state.answer.status === "waiting"
    ? el("p", {}, "Searching …")
    : button("Ask again", () => controller.ask(state.foil));
}

/** Without a foil the two are compared by the actions they choose. */
function orAskFirst(state, parts) {
  return state.foil === null ? el("p", { class: "note" }, "Ask “Why not?” above to compare the answers.") : parts;
}

async function drawOther(other, state, signal) {
  const { agent, command, seed, step, comparison, foil } = state;
  const name = comparison.agent || agent.name;
  const episode = comparison.agent ? await rollOut(name, command, seed) : state.episode;
  signal.throwIfAborted();
  const decision = episode.decisions[step];
  if (!decision)
    return other.show(
      el(
        "p",
        {},
        `The episode of ${titleOf(state, name)} ends after ${episode.decisions.length} steps with ${episode.achieved_text}.`,
      ),
    );
  const head = [scene(agent, decision), stateNote(state, decision)];
  if (foil === null) return other.show(head, orAskFirst(state, null));
  if (typeof foil === "number" && !decision.valid_actions.includes(foil))
    return other.show(head, el("p", {}, `“${agent.actions[foil]}” is not possible there.`));
  if (typeof foil === "number" && decision.action === foil)
    return other.show(head, el("p", { class: "sentence" }, `It ${present(agent, foil)} anyway.`));
  other.show(head, el("p", { class: "loading" }, "Searching …"));
  const settings = comparison.search ? { ...state.settings, search: comparison.search } : state.settings;
  const result = await work("answers", { ...questionOf(state, foil, settings), agent: name }, { signal });
  other.show(head, answerParts(agent, result));
}

function scene(agent, decision) {
  return [
    showPicture(el("img", { class: "scene", alt: "The environment at this step" }), decision.picture),
    el(
      "p",
      { class: "caption" },
      `It ${doing(agent, decision)}` +
        (decision.amounts ? "" : ` (${percent(decision.probabilities[decision.action])})`),
    ),
  ];
}

/** Return a note if the other agent is in another state, or has another remaining command. */
function stateNote(state, decision) {
  const mine = decisionOf(state);
  const same =
    mine.state.every((x, i) => x === decision.state[i]) &&
    mine.command.every((x, i) => Math.abs(x - decision.command[i]) < 1e-9);
  return same
    ? null
    : el(
        "p",
        { class: "small" },
        `Its state or its remaining command differs: it still has to get ${plainNumbers(commandText(state.agent.objectives, decision.command))}.`,
      );
}
