/** The panel of options: search, limits, and what may change. */

import { button, el } from "./dom.js";
import { DEFAULT_OPTIONS, decisionOf } from "./state.js";
import { amount, fromAmount, short } from "./text.js";

const NORMS = [
  ["l2", "straight line (l2)"],
  ["l1", "sum of the changes (l1)"],
  ["linf", "largest change (linf)"],
];

/** @param {import("./state.js").Store} store */
export function createOptions(scope, store, controller) {
  const root = el("form", { class: "options", on: { submit: (event) => event.preventDefault() } });
  scope.draw(["options", "searches", "step"], (state) => {
    const focused = document.activeElement?.id;
    root.replaceChildren(
      searchField(state, controller),
      limitFields(state, controller),
      ...fieldsOfChange(state, controller),
      foot(controller),
    );
    if (focused && root.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
  });
  return root;
}

function searchField(state, controller) {
  const known = [{ name: "auto", about: "proves where it can, samples where it cannot" }, ...state.searches];
  const select = el(
    "select",
    { id: "option-search", on: { change: () => controller.setOptions({ search: select.value }) } },
    known.map((search) =>
      el(
        "option",
        { value: search.name, selected: search.name === state.options.search },
        `${search.name}: ${search.about}`,
      ),
    ),
  );
  return field("Search", "option-search", select);
}

function limitFields({ options }, controller) {
  const numeric = (id, label, value, key, least, most, step) => {
    const input = el("input", {
      id,
      type: "number",
      min: least,
      max: most,
      step,
      value: value ?? "",
      placesetRangeer: "default",
      on: {
        change: () =>
          controller.setOptions({
            [key]: input.value === "" ? DEFAULT_OPTIONS[key] : Math.max(least, Math.min(most, Number(input.value))),
          }),
      },
    });
    return field(label, id, input);
  };
  const norm = el(
    "select",
    { id: "option-norm", on: { change: () => controller.setOptions({ norm: norm.value }) } },
    NORMS.map(([value, label]) => el("option", { value, selected: value === options.norm }, label)),
  );
  const sparse = el("input", {
    id: "option-sparse",
    type: "checkbox",
    checked: options.sparse,
    on: { change: () => controller.setOptions({ sparse: sparse.checked }) },
  });
  return el(
    "div",
    { class: "option-grid" },
    numeric("option-k", "Answers", options.k, "k", 1, 5, 1),
    numeric("option-seconds", "Seconds", options.seconds, "seconds", 1, 60, 1),
    numeric("option-kappa", "Margin (kappa)", options.kappa, "kappa", 0, 2, 0.01),
    field("Size of a change", "option-norm", norm),
    field("Change as few objectives as possible", "option-sparse", sparse),
  );
}

function fieldsOfChange(state, controller) {
  return [
    el(
      "fieldset",
      {},
      el("legend", {}, "What may change"),
      state.agent.objectives.map((objective, i) => row(state, objective, i, controller)),
    ),
  ];
}

/** Return the controls of one objective: free, kept, or within a range. */
function row(state, objective, i, controller) {
  const { options, agent } = state;
  const kept = options.keep.includes(objective.name);
  const range = options.ranges[objective.name];
  const keep = el("input", {
    id: `keep-${i}`,
    type: "checkbox",
    checked: kept,
    on: {
      change: () => {
        const names = options.keep.filter((name) => name !== objective.name);
        controller.setOptions({ keep: keep.checked ? [...names, objective.name] : names });
      },
    },
  });
  const ends = (range || [agent.space.low[i], agent.space.high[i]])
    .map((x) => amount(objective, x))
    .sort((a, b) => a - b);
  const inputs = ["from", "to"].map((word, k) =>
    el("input", {
      id: `range-${i}-${word}`,
      type: "number",
      step: "any",
      value: short(ends[k]),
      "aria-label": `${objective.name} ${word}`,
      disabled: kept,
      on: { change: setRange },
    }),
  );

  /** Set the range. It is widened to contain the command. */
  function setRange() {
    const [low, high] = inputs.map((input) => fromAmount(objective, Number(input.value))).sort((a, b) => a - b);
    const now = decisionOf(state).command[i];
    controller.setOptions({
      ranges: { ...options.ranges, [objective.name]: [Math.min(low, now), Math.max(high, now)] },
    });
  }

  const free =
    range &&
    button(
      "remove the range",
      () => {
        const ranges = { ...options.ranges };
        delete ranges[objective.name];
        controller.setOptions({ ranges });
      },
      { class: "quiet" },
    );
  return el(
    "div",
    { class: "option-row" },
    el("span", { class: "option-name" }, objective.name),
    el("label", { for: `keep-${i}` }, keep, " keep"),
    el("span", { class: "option-range" }, inputs[0], " to ", inputs[1]),
    free,
  );
}

function field(label, id, input) {
  return el("p", { class: "field" }, el("label", { for: id }, label), input);
}

function foot(controller) {
  return el(
    "div",
    { class: "buttons" },
    button("Reset to the defaults", () => controller.setOptions(DEFAULT_OPTIONS)),
  );
}
