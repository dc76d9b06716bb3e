/** The form for a question about the whole episode: an outcome, put together without its syntax, or typed. */

import { button, el, refill } from "./dom.js";
import { SIGNS, isMet, outcomeWords, readClauses, shownNumber, writeClauses } from "./outcome.js";
import { isSaved, savedOutcomes } from "./saved.js";

const HAPPENS = { ">=": "happens", "<=": "does not happen" };
let serial = 0;

/**
 * Return the form. The text of the outcome, `draft`, is in the state: clicks on the picture change it, too.
 * @param {import("./state.js").Store} store
 * @param {import("./controller.js").Controller} controller
 */
export function createOutcomeForm(scope, store, controller) {
  if (isSaved()) return savedQuestions(store, controller);
  const { agent } = store.get();
  const rows = rowsOf(agent, store.get().episode).map((row) => tickable(row, write));
  const text = el("input", {
    type: "text",
    id: "outcome-text",
    maxlength: 500,
    placeholder: "such as " + example(agent),
    on: { input: () => store.set({ draft: text.value }) },
  });
  const share = el("input", { type: "number", id: "outcome-share", min: 1, max: 100, step: 1, value: 50 });
  const fromStart = el("input", { type: "radio", name: "outcome-from", id: "outcome-start", checked: true });
  const fromHere = el("input", { type: "radio", name: "outcome-from", id: "outcome-here" });
  const here = el("label", { for: "outcome-here" });
  const where = el(
    "fieldset",
    { class: "outcome-where", on: { change: () => show(store.get()) } },
    el("legend", {}, "Change what you ask for"),
    el("span", {}, fromStart, el("label", { for: "outcome-start" }, "at the start")),
    el("span", {}, fromHere, here),
  );
  const hint = el("p", { class: "small", role: "status" });
  const ask = el("button", { type: "submit", class: "primary", disabled: true }, "Why not?");
  const form = el(
    "form",
    { class: "outcome-form", on: { submit } },
    el("p", { class: "small" }, "What should have happened in the episode? Choose one or more lines."),
    rows.map(({ node }) => node),
    agent.cells.length > 0 && el("p", { class: "small" }, "You can also click a place in the picture."),
    agent.stochastic &&
      el("p", { class: "field" }, el("label", { for: share.id }, "in at least"), share, "% of the runs"),
    el("p", { class: "field outcome-text" }, el("label", { for: text.id }, "As text"), text),
    where,
    hint,
    ask,
  );
  const fold = el(
    "details",
    { class: "outcome-question", on: { toggle } },
    el("summary", {}, "Why did it not end differently?"),
    form,
  );

  /** The state follows the fold, and the fold the state. */
  function toggle() {
    if (fold.open !== (store.get().draft !== null)) store.set({ draft: fold.open ? "" : null });
  }

  /** Write the rows that are ticked, and keep the clauses that no row has. */
  function write() {
    const clauses = readClauses(agent, store.get().draft ?? "");
    const others = clauses.filter((clause) => !rows.some((row) => row.first(clauses) === clause));
    const ticked = rows.filter((row) => row.tick.checked && row.make()).map((row) => row.make());
    store.set({ draft: writeClauses([...ticked, ...others]) });
  }

  function submit(event) {
    event.preventDefault();
    const { step, draft } = store.get();
    const outcome = draft.trim();
    const part = agent.stochastic ? { share: Math.min(100, Math.max(1, Number(share.value) || 50)) / 100 } : {};
    controller.askAt(fromHere.checked ? step : 0, { outcome, ...part });
  }

  function show({ draft, step, episode }) {
    fold.open = draft !== null;
    if (draft === null) return;
    const clauses = readClauses(agent, draft);
    for (const row of rows) row.show(row.first(clauses));
    if (document.activeElement !== text) text.value = draft;
    where.hidden = !step;
    if (!step) fromStart.checked = true;
    here.textContent = `at step ${step + 1}`;
    const already =
      clauses.length && !agent.stochastic && isMet(agent, clauses, episode, fromHere.checked ? step : 0) === true;
    hint.textContent = already ? "The episode does that already. Choose something that it does not do." : "";
    ask.disabled = !clauses.length || already;
  }

  scope.draw(["draft", "step"], show);
  scope.draw(["arrived"], ({ arrived, draft }) => arrived && draft === null && store.set({ draft: "" }));
  scope.draw(["foil"], ({ foil, step }) => {
    if (foil === null || typeof foil === "number") return;
    if (foil.share) share.value = String(Math.round(100 * foil.share));
    fromHere.checked = step > 0;
  });
  return fold;
}

/** Return the questions about outcomes that were saved with the page. */
function savedQuestions(store, controller) {
  const { agent } = store.get();
  const list = el("div", { class: "outcome-question buttons" });
  refill(
    list,
    savedOutcomes().map(({ step, outcome }) =>
      button(`Why not ${outcomeWords(agent, outcome)}?`, () => controller.askAt(step, { outcome })),
    ),
  );
  list.hidden = !list.childElementCount;
  return list;
}

const example = (agent) => `${agent.returns[0].name} >= 1, steps <= 10`;

/** Return what the rows of the form are: label, controls, which clause each is about, and how it reads and makes it. */
function rowsOf(agent, episode) {
  const steps = numberInput("Number of steps", episode.decisions.length, { min: 1, step: 1 });
  const ending = select("How it ends", { "": "by itself", never: "only at the step limit" });
  return [
    ...agent.returns.map((objective, i) => objectiveRow(objective, episode.achieved[i])),
    {
      label: "ends within",
      controls: [steps, "steps"],
      has: ({ kind, name, sign }) => kind === "limit" && name === "steps" && sign === "<=",
      read: ({ number }) => put(steps, number),
      make: () => steps.value !== "" && { kind: "limit", name: "steps", sign: "<=", number: Number(steps.value) },
    },
    {
      label: "ends",
      controls: [ending],
      has: ({ kind }) => kind === "ends",
      read: ({ never }) => put(ending, never ? "never" : ""),
      make: () => ({ kind: "ends", never: Boolean(ending.value), value: "" }),
    },
    !agent.amounts && eventRow("action", "takes", ["chooses", "never chooses"], agent.actions),
    agent.cells.length > 0 &&
      eventRow(
        "place",
        "visits",
        ["goes to", "never goes to"],
        agent.cells.map(({ cell }) => cell),
      ),
  ].filter(Boolean);
}

/** Return the row of an objective, with what the episode brought. In a run, a probability is something that happens. */
function objectiveRow(objective, achieved) {
  const { name, cost, unit, probability } = objective;
  const sign = select(`Limit of ${name}`, probability ? HAPPENS : SIGNS, cost ? "<=" : ">=");
  const number = numberInput(`Amount of ${name}`, shownNumber(objective, achieved), { step: "any" });
  const amountOf = () => (probability ? (sign.value === ">=" ? 1 : 0) : Number(number.value));
  return {
    label: name,
    controls: probability ? [sign] : [sign, number, unit],
    has: (clause) => clause.kind === "limit" && clause.name === name && (!probability || clause.sign in HAPPENS),
    read: (clause) => (put(sign, clause.sign), put(number, clause.number)),
    make: () => number.value !== "" && { kind: "limit", name, sign: sign.value, number: amountOf() },
  };
}

/** Return the row of something that happens at some step, or never. */
function eventRow(label, kind, [does, never], values) {
  const verb = select(`Whether it ${does}`, { "": does, never });
  const value = select(`The ${label}`, Object.fromEntries(values.map((one) => [one, one])));
  return {
    label,
    controls: [verb, value],
    has: (clause) => clause.kind === kind,
    read: (clause) => (put(verb, clause.never ? "never" : ""), put(value, clause.value)),
    make: () => ({ kind, never: Boolean(verb.value), value: value.value }),
  };
}

/** Return a row with a box to tick, which is ticked when one of its controls changes. */
function tickable({ label, controls, has, read, make }, onChange) {
  const id = `outcome-${++serial}`;
  const tick = el("input", { type: "checkbox", id, on: { change: onChange } });
  const change = () => ((tick.checked = true), onChange());
  for (const control of controls) if (typeof control !== "string") control.addEventListener("input", change);
  const node = el(
    "div",
    { class: "outcome-row" },
    tick,
    el("label", { for: id }, label),
    el("span", { class: "outcome-controls" }, controls),
  );
  const show = (clause) => {
    tick.checked = Boolean(clause);
    if (clause) read(clause);
  };
  return { node, tick, make, show, first: (clauses) => clauses.find(has) };
}

function numberInput(label, value, limits) {
  return el("input", { type: "number", "aria-label": label, value, ...limits });
}

function select(label, choices, chosen = "") {
  const options = Object.entries(choices).map(([value, words]) =>
    el("option", { value, selected: value === chosen }, words),
  );
  return el("select", { "aria-label": label }, options);
}

/** Set a control, unless somebody is typing in it. */
function put(control, value) {
  if (document.activeElement !== control) control.value = String(value);
}
