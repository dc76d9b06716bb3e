/** The form for a foil on continuous actions: more, less, at least, at most or between amounts of a dimension. */

import { el } from "./dom.js";
import { decisionOf } from "./state.js";
import { short } from "./text.js";

/**
 * The kinds of limits, with the text that the command line takes.
 * @type {Array<[string, function(string, number, number): string]>}
 */
const KINDS = [
  ["at least", (name, first) => `${name} >= ${first}`],
  ["at most", (name, first) => `${name} <= ${first}`],
  ["between", (name, first, second) => `${Math.min(first, second)} <= ${name} <= ${Math.max(first, second)}`],
  ["more by", (name, first) => `${name} + ${first}`],
  ["less by", (name, first) => `${name} - ${first}`],
];

/**
 * @param {import("./state.js").Store} store
 * @param {import("./controller.js").Controller} controller
 */
export function createAmountForm(scope, store, controller) {
  const { amounts } = store.get().agent;
  const dimension = select(
    "Amount",
    amounts.map(({ name }) => name),
  );
  const kind = select(
    "Kind of limit",
    KINDS.map(([label]) => label),
  );
  const [first, second] = ["First amount", "Second amount"].map((label) =>
    el("input", { type: "number", step: "any", "aria-label": label, required: true }),
  );
  const unit = el("span", {});
  const also = el("span", { class: "amount-second" }, "and", second);

  const isBetween = () => KINDS[Number(kind.value)][0] === "between";
  const isRelative = () => KINDS[Number(kind.value)][0].endsWith("by");

  /** Start with what it chooses; a difference starts with a tenth of the range. */
  function fill() {
    const { low, high, unit: text } = amounts[Number(dimension.value)];
    const chosen = decisionOf(store.get()).amounts[Number(dimension.value)];
    const tenth = (high - low) / 10;
    first.value = short(isRelative() ? tenth : chosen, 3);
    second.value = short(Math.min(high, chosen + tenth), 3);
    also.hidden = second.disabled = !isBetween();
    unit.textContent = text;
  }

  function submit(event) {
    event.preventDefault();
    const { name } = amounts[Number(dimension.value)];
    const text = KINDS[Number(kind.value)][1](name, Number(first.value), Number(second.value));
    controller.ask({ amount: text });
  }

  for (const choice of [dimension, kind]) choice.addEventListener("change", fill);
  scope.draw(["step", "episode"], fill);
  return el(
    "form",
    { class: "amount-form", on: { submit } },
    amounts.length > 1 ? dimension : el("span", {}, amounts[0].name),
    kind,
    first,
    also,
    unit,
    el("button", { type: "submit", class: "why" }, "Why not?"),
  );
}

function select(label, names) {
  return el(
    "select",
    { "aria-label": label },
    names.map((name, i) => el("option", { value: i }, name)),
  );
}
