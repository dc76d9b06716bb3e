/** The panel of options: search, limits, and a control for each option that the server lists. */

import { button, el } from "./dom.js";
import { DEFAULT_SETTINGS, decisionOf } from "./state.js";
import { amount, fromAmount, short } from "./text.js";

/** @param {import("./state.js").Store} store */
export function createOptions(scope, store, controller) {
  const root = el("form", { class: "options", on: { submit: (event) => event.preventDefault() } });
  scope.draw(["settings", "searches", "optionInfos", "step"], (state) => {
    const focused = document.activeElement?.id;
    root.replaceChildren(
      searchField(state, controller),
      el(
        "div",
        { class: "option-grid" },
        limitField("seconds", "Time limit, in seconds", 60, state, controller),
        limitField("queries", "Query limit", 1_000_000, state, controller),
      ),
      ...(state.optionInfos.length
        ? state.optionInfos.map((info) => optionField(info, state, controller))
        : [el("p", { class: "loading" }, "Loading the options …")]),
      el(
        "div",
        { class: "buttons" },
        button("Reset to the defaults", () => controller.setSettings(DEFAULT_SETTINGS)),
      ),
    );
    if (focused && root.querySelector(`#${CSS.escape(focused)}`)) document.getElementById(focused).focus();
  });
  return root;
}

function searchField({ settings, searches }, controller) {
  const known = [{ name: "auto", about: "exact if proofs are possible, otherwise boundary" }, ...searches];
  const select = el(
    "select",
    { id: "option-search", on: { change: () => controller.setSettings({ search: select.value }) } },
    known.map(({ name, about }) =>
      el("option", { value: name, selected: name === settings.search }, `${name}: ${about}`),
    ),
  );
  return field("Search", select);
}

function limitField(name, label, max, { settings }, controller) {
  const input = numberInput(`option-${name}`, { min: 1, max, step: 1 }, settings[name], (value) =>
    controller.setSettings({ [name]: value ?? null }),
  );
  return field(label, input);
}

/**
 * Return the control of an option. Its kind decides which control it is.
 * @param {OptionInfo} info
 * @param {State} state
 */
function optionField(info, state, controller) {
  const value = state.settings.options[info.name] ?? info.default;
  const set = (changed) => controller.setOption(info, changed);
  if (info.kind === "objectives") return objectivesField(info, value, state, set);
  if (info.kind === "ranges") return rangesField(info, value, state, set);
  return field(info.name.replaceAll("_", " "), simpleInput(info, value, set), info.help);
}

/** @param {OptionInfo} info */
function simpleInput(info, value, set) {
  const id = `option-${info.name}`;
  if (info.kind === "choice") {
    const select = el(
      "select",
      { id, on: { change: () => set(select.value) } },
      info.choices.map((choice) => el("option", { value: choice, selected: choice === value }, choice)),
    );
    return select;
  }
  if (info.kind === "flag") {
    const box = el("input", { id, type: "checkbox", checked: value, on: { change: () => set(box.checked) } });
    return box;
  }
  const limits = { min: info.minimum, max: info.maximum, step: info.kind === "whole" ? 1 : "any" };
  return numberInput(id, limits, value, (changed) => set(changed ?? info.default));
}

/** Return a number field. An empty field means the default. */
function numberInput(id, limits, value, set) {
  const { min, max } = limits;
  const clip = (number) => Math.max(min ?? -Infinity, Math.min(max ?? Infinity, number));
  const input = el("input", {
    id,
    type: "number",
    ...limits,
    value: value ?? "",
    placeholder: "default",
    on: { change: () => set(input.value === "" ? undefined : clip(Number(input.value))) },
  });
  return input;
}

/** @param {OptionInfo} info */
function objectivesField(info, names, { agent }, set) {
  return el(
    "fieldset",
    {},
    legend(info),
    agent.objectives.map(({ name }, i) => {
      const box = el("input", {
        id: `option-${info.name}-${i}`,
        type: "checkbox",
        checked: names.includes(name),
        on: {
          change: () => set([...names.filter((other) => other !== name), ...(box.checked ? [name] : [])]),
        },
      });
      return el("label", { for: box.id, class: "option-box" }, box, ` ${name}`);
    }),
  );
}

/** @param {OptionInfo} info */
function rangesField(info, ranges, state, set) {
  const rows = state.agent.objectives.map((objective, i) => rangeRow(info, objective, i, ranges, state, set));
  return el("fieldset", {}, legend(info), rows);
}

function rangeRow(info, objective, i, ranges, state, set) {
  const { [objective.name]: range, ...others } = ranges;
  const { low, high } = state.agent.space;
  const ends = (range || [low[i], high[i]]).map((x) => amount(objective, x)).sort((a, b) => a - b);
  const inputs = ["from", "to"].map((word, k) =>
    el("input", {
      id: `option-${info.name}-${i}-${word}`,
      type: "number",
      step: "any",
      value: short(ends[k]),
      "aria-label": `${objective.name} ${word}`,
      on: { change: setRange },
    }),
  );

  /** Set the range. It is widened to contain the command. */
  function setRange() {
    const [first, last] = inputs.map((input) => fromAmount(objective, Number(input.value))).sort((a, b) => a - b);
    const now = decisionOf(state).command[i];
    set({ ...others, [objective.name]: [Math.min(first, now), Math.max(last, now)] });
  }

  return el(
    "div",
    { class: "option-row" },
    el("span", { class: "option-name" }, objective.name),
    el("span", { class: "option-range" }, inputs[0], " to ", inputs[1]),
    range && button("remove the range", () => set(others), { class: "quiet" }),
  );
}

function legend(info) {
  return el("legend", {}, info.name.replaceAll("_", " "), el("span", { class: "hint" }, info.help));
}

function field(label, input, help = "") {
  const hint = help && el("span", { class: "hint" }, help);
  return el("p", { class: "field" }, el("label", { for: input.id }, label), input, hint);
}
