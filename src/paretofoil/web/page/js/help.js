/** "How this works": four pictures, one minute. */

import { button, el, svg } from "./dom.js";

/** @type {Array<[string, string, function(): any]>} */
const STEPS = [
  ["You ask for something", "A command says what the agent should bring: here 8 treasure in 8 steps.", ask],
  ["It acts on the command", "At each step, it subtracts what it already has, and goes for the rest.", act],
  ["You ask: why not?", "Choose a step and another action. Why did it go right, and not down?", question],
  ["The answer", "The smallest change of your command that would have made it go down.", change],
];
const KEYS = [
  ["Space", "play or pause"],
  ["← →", "one step back or forward"],
  ["End", "the end of the episode"],
  ["Esc", "back to the episode"],
  ["?", "this page"],
];

/** @returns {{node: HTMLDialogElement, open: function(): void}} */
export function createHelp() {
  const heading = el("h2", { id: "help-title", tabindex: -1 }, "How this works");
  const node = el(
    "dialog",
    { class: "help", "aria-labelledby": "help-title" },
    heading,
    el(
      "ol",
      { class: "help-steps" },
      STEPS.map(([name, text, draw]) =>
        el(
          "li",
          {},
          svg("svg", { viewBox: "0 0 160 100", "aria-hidden": "true" }, draw()),
          el("h3", {}, name),
          el("p", {}, text),
        ),
      ),
    ),
    el(
      "p",
      { class: "small" },
      "“Proven” means that a mathematical proof covers all commands, not only those that were tried. ",
      "On the map, each point is a command; its colour is the action that the agent would choose under it. ",
      "Striped bars are costs: less is better.",
    ),
    el(
      "dl",
      { class: "keys" },
      KEYS.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)]),
    ),
    el(
      "form",
      { method: "dialog" },
      button("Close", () => node.close(), { class: "primary" }),
    ),
  );
  return { node, open: () => !node.open && (node.showModal(), heading.focus()) };
}

const sea = () => [
  svg("rect", { x: 8, y: 8, width: 144, height: 84, rx: 8, class: "help-sea" }),
  svg("path", { d: "M8 58L56 58L56 74L104 74L104 92L16 92Q8 92 8 84Z", class: "help-rock" }),
];
const submarine = (x, y) => svg("rect", { x: x - 12, y: y - 6, width: 24, height: 12, rx: 6, class: "help-boat" });
const chest = (x, y, text) => [
  svg("rect", { x: x - 9, y: y - 7, width: 18, height: 14, rx: 3, class: "help-chest" }),
  svg("text", { x, y: y + 4, "text-anchor": "middle", class: "help-number" }, text),
];
const path = (d, kind = "") => svg("path", { d, class: `help-path ${kind}` });

function ask() {
  return [
    svg("rect", { x: 14, y: 26, width: 132, height: 40, rx: 10, class: "help-bubble" }),
    svg("path", { d: "M40 66L36 84L56 66Z", class: "help-bubble" }),
    svg("text", { x: 80, y: 51, "text-anchor": "middle", class: "help-words small-words" }, "8 treasure, 8 steps"),
  ];
}

function act() {
  return [sea(), chest(82, 66, "5"), chest(128, 84, "8"), path("M26 24H128V72"), submarine(26, 24)];
}

function question() {
  return [
    sea(),
    chest(82, 66, "5"),
    chest(128, 84, "8"),
    submarine(82, 24),
    path("M98 24H122"),
    path("M82 34V54", "other"),
    svg("text", { x: 64, y: 52, class: "help-number large-number" }, "?"),
  ];
}

function change() {
  return [
    svg("text", { x: 12, y: 30, class: "help-words small-words" }, "treasure: 8, as before"),
    svg("rect", { x: 12, y: 36, width: 136, height: 10, rx: 5, class: "help-bar" }),
    svg("text", { x: 12, y: 66, class: "help-words small-words" }, "steps: 8 → 7.6"),
    svg("rect", { x: 12, y: 72, width: 136, height: 10, rx: 5, class: "help-bar" }),
    svg("rect", { x: 12, y: 72, width: 128, height: 10, rx: 5, class: "help-new" }),
  ];
}
