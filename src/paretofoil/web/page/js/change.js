/** The small picture of a change: for each objective what was wished for, and what should have been. */

import { el } from "./dom.js";
import { amount, quantity, short } from "./words.js";

/**
 * @param {Object[]} objectives
 * @param {number[]} original
 * @param {number[]} changed
 * @param {string} label what the changed one is called
 */
export function changePicture(objectives, original, changed, label = "instead") {
  const rows = objectives.map((objective, i) => changeRow(objective, original[i], changed[i], label));
  return el("div", { class: "change", role: "list", "aria-label": "The change of the wish" }, rows);
}

function changeRow(objective, before, after, label) {
  const old = amount(objective, before),
    fresh = amount(objective, after);
  const stays = Math.abs(old - fresh) < 1e-9;
  const most = Math.max(Math.abs(old), Math.abs(fresh)) || 1;
  const told = quantity(objective, after, 10); // all its digits, as in the sentence
  const numbers = stays ? `stays ${quantity(objective, before)}` : `${short(old)} → ${told}`;
  return el(
    "div",
    { class: `change-row${stays ? " stays" : ""}`, role: "listitem" },
    el("span", { class: "change-name" }, objective.name),
    el(
      "span",
      { class: "change-bars", "aria-hidden": "true" },
      bar("asked", Math.abs(old) / most, "you asked"),
      !stays && bar("fresh", Math.abs(fresh) / most, label),
    ),
    el("span", { class: "change-numbers" }, numbers),
  );
}

function bar(kind, share, title) {
  return el("span", { class: `bar ${kind}`, title }, el("span", { class: "fill", vars: { "--share": share } }));
}
