/** A picture of a change of the command: for each objective the original and the new amount. */

import { el } from "./dom.js";
import { amount, quantity, short } from "./text.js";

/**
 * @param {Object[]} objectives
 * @param {number[]} original
 * @param {number[]} changed
 * @param {string} label of the new amount
 */
export function changePicture(objectives, original, changed, label = "new command") {
  const rows = objectives.map((objective, i) => changeRow(objective, original[i], changed[i], label));
  return el("div", { class: "change", role: "list", "aria-label": "The change of the command" }, rows);
}

function changeRow(objective, before, after, label) {
  const from = amount(objective, before),
    to = amount(objective, after);
  const unchanged = Math.abs(from - to) < 1e-9;
  const most = Math.max(Math.abs(from), Math.abs(to)) || 1;
  const numbers = unchanged
    ? `unchanged: ${quantity(objective, before)}`
    : `${short(from, 3)} → ${arrival(objective, before, after)}`;
  return el(
    "div",
    { class: `change-row${unchanged ? " unchanged" : ""}`, role: "listitem" },
    el("span", { class: "change-name" }, objective.name),
    el(
      "span",
      { class: "change-bars", "aria-hidden": "true" },
      bar("original", Math.abs(from) / most, "original command"),
      !unchanged && bar("changed", Math.abs(to) / most, label),
    ),
    el("span", { class: "change-numbers" }, numbers),
  );
}

/** Return the new amount; if three digits do not tell it from the old one, the difference as well. */
function arrival(objective, before, after) {
  const text = quantity(objective, after);
  if (text !== quantity(objective, before)) return text;
  const difference = amount(objective, after) - amount(objective, before);
  return `${text} (${difference > 0 ? "+" : "−"}${short(Math.abs(difference), 1)})`;
}

function bar(kind, share, title) {
  return el("span", { class: `bar ${kind}`, title }, el("span", { class: "fill", vars: { "--share": share } }));
}
