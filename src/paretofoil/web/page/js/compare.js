/** Two at the same question: another search, or another agent of the same world under the same wish. */

import { rollOut, work } from "./api.js";
import { answerBody } from "./answer.js";
import { button, el, kindly, refill } from "./dom.js";
import { questionOf } from "./journey.js";
import { decisionOf } from "./state.js";
import { percent, wishes } from "./words.js";

/** @param {import("./state.js").Store} store */
export function createCompare(scope, store, journey) {
  const choice = el("p", { class: "axis-choice" });
  const columns = el("div", { class: "duet" });
  let work = new AbortController();
  scope.onEnd(() => work.abort());
  scope.draw(["searches", "beside"], (state) => refill(choice, chooser(state, store)));
  scope.draw(["time", "foil", "answer", "beside"], (state) => {
    work.abort();
    work = new AbortController();
    drawBoth(columns, state, work.signal, journey);
  });
  return el("div", {}, choice, columns);
}

function chooser(state, store) {
  const agents = (state.agent.siblings || []).map((name) => ({ label: `the agent ${name}`, value: { agent: name } }));
  const searches = state.searches.map(({ name }) => ({ label: `the search ${name}`, value: { search: name } }));
  const all = [...agents, ...searches];
  const select = el(
    "select",
    {
      id: "beside",
      on: { change: () => store.set({ beside: select.value === "" ? null : all[Number(select.value)].value }) },
    },
    el("option", { value: "" }, "nothing yet"),
    all.map(({ label, value }, i) =>
      el("option", { value: i, selected: JSON.stringify(value) === JSON.stringify(state.beside) }, label),
    ),
  );
  return [el("label", { for: "beside" }, "Compare with "), select];
}

function drawBoth(columns, state, signal, journey) {
  const { agent, beside, options } = state;
  if (!beside)
    return refill(
      columns,
      el("p", { class: "note" }, "Pick another agent of this world, or another search, to put beside this one."),
    );
  const mine = column(agent.name, `search ${options.search}`);
  const other = column(beside.agent || agent.name, `search ${beside.search || options.search}`);
  refill(columns, mine.node, other.node);
  drawMine(mine, state, journey);
  drawOther(other, state, signal).catch((error) => error.name !== "AbortError" && other.show(kindly(error)));
}

function column(name, search) {
  const body = el("div", {}, el("p", { class: "loading" }, "Asking …"));
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

function drawMine(mine, state, journey) {
  const { agent, answer } = state;
  const decision = decisionOf(state);
  mine.show(
    scene(agent, decision),
    foilsFirst(state, answer.result ? answerBody(agent, answer.result) : waiting(state, journey)),
  );
}

function waiting(state, journey) {
  return state.answer.status === "waiting"
    ? el("p", {}, "Searching …")
    : button("Ask again", () => journey.ask(state.foil));
}

/** Without a foil there is nothing to answer yet: the two are compared by what they do. */
function foilsFirst(state, parts) {
  return state.foil === null ? el("p", { class: "note" }, "Ask “Why not?” above, and both answer.") : parts;
}

async function drawOther(other, state, signal) {
  const { agent, command, seed, time, beside, foil } = state;
  const name = beside.agent || agent.name;
  const episode = beside.agent ? await rollOut(name, command, seed) : state.episode;
  signal.throwIfAborted();
  const decision = episode.decisions[time];
  if (!decision)
    return other.show(
      el(
        "p",
        {},
        `Under this wish ${name} is done after ${episode.decisions.length} steps: it gets ${episode.achieved_text}.`,
      ),
    );
  const here = [scene(agent, decision), elsewhere(state, decision)];
  if (foil === null || !decision.valid_actions.includes(foil))
    return other.show(here, foilsFirst(state, el("p", {}, `It cannot do “${agent.actions[foil]}” there.`)));
  if (decision.action === foil)
    return other.show(here, el("p", { class: "sentence" }, `It does just that: ${agent.actions[foil]}.`));
  other.show(here, el("p", { class: "loading" }, "Searching …"));
  const options = beside.search ? { ...state.options, search: beside.search } : state.options;
  const result = await work("answers", { ...questionOf(state, foil, options), agent: name }, { signal });
  other.show(here, answerBody(agent, result));
}

function scene(agent, decision) {
  const name = agent.actions[decision.action];
  return [
    el("img", { class: "scene", src: decision.picture, alt: "The world at this moment" }),
    el("p", { class: "caption" }, `Does: ${name} (${percent(decision.probabilities[decision.action])})`),
  ];
}

/** Two agents under the same wish may have come to different places by now, which is then said. */
function elsewhere(state, decision) {
  const mine = decisionOf(state);
  const same =
    mine.state.every((x, i) => x === decision.state[i]) &&
    mine.command.every((x, i) => Math.abs(x - decision.command[i]) < 1e-9);
  return same
    ? null
    : el(
        "p",
        { class: "small" },
        `It has come to another place by now, with ${wishes(state.agent.objectives, decision.command)} still to get.`,
      );
}
