/** Goals as cards: the points of the front in words and bars, on the front's picture where it is flat, or one's own. */

import { pictureOf } from "./api.js";
import { button, el, refill } from "./dom.js";
import { frontPicture } from "./front_picture.js";
import { commandSliders } from "./sliders.js";
import { amount, quantity, title, wishes } from "./words.js";

/** Cards that are shown before one asks for all. */
const FIRST = 12;

/** @param {HTMLElement} root */
export function showGoals(root, store, journey) {
  const { agent } = store.get();
  const order = ordered(agent.front);
  const list = el("ul", { class: "goals" });
  const few = spread(order, FIRST);
  const fill = (shown) =>
    refill(
      list,
      shown.map((i) => el("li", {}, goalCard(agent, i, journey))),
    );
  const more =
    few.length < order.length &&
    button(`Show all ${order.length} goals`, () => (fill(order), more.remove()), { class: "quiet more" });
  fill(few);
  root.replaceChildren(
    el(
      "section",
      { class: "goal-head" },
      el("img", { class: "goal-world", src: pictureOf(agent), alt: `The world of ${agent.name} at the start` }),
      el("div", {}, el("h1", {}, "What do you want?"), el("p", { class: "lead" }, agent.about || ""), badges(agent)),
    ),
    el(
      "div",
      { class: agent.objectives.length === 2 ? "goal-body with-front" : "goal-body" },
      agent.objectives.length === 2 &&
        agent.front.length > 2 &&
        frontPicture(agent, (i) => journey.setOut(agent.front[i])),
      el("div", {}, list, more, ownGoal(agent, journey)),
    ),
  );
}

function badges(agent) {
  const words = [
    agent.environment === agent.name ? null : title(agent.name),
    agent.early && "stopped early in its training",
    agent.stochastic && "chance plays a part",
  ];
  return el(
    "p",
    { class: "chips" },
    words.filter(Boolean).map((word) => el("span", { class: "chip" }, word)),
  );
}

/** By the first objective, so that neighbours are alike. */
function ordered(front) {
  return front
    .map((_, i) => i)
    .sort((i, j) => {
      const k = front[i].findIndex((x, at) => x !== front[j][at]);
      return k < 0 ? 0 : front[i][k] - front[j][k];
    });
}

/** Some of many, from all over; all if there are only a few more. */
function spread(order, count) {
  if (order.length <= count + 2) return order;
  return Array.from({ length: count }, (_, k) => order[Math.round((k * (order.length - 1)) / (count - 1))]);
}

function goalCard(agent, i, journey) {
  const point = agent.front[i];
  const card = button(el("span", { class: "hidden" }, "Ask for "), () => journey.setOut(point), {
    class: "card goal",
    title: agent.front_texts[i],
  });
  card.append(
    el(
      "span",
      { class: "goal-rows" },
      agent.objectives.map((objective, j) => goalRow(agent, objective, point[j], j)),
    ),
  );
  return card;
}

function goalRow(agent, objective, value, j) {
  const all = agent.front.map((point) => Math.abs(amount(objective, point[j])));
  const share = Math.abs(amount(objective, value)) / (Math.max(...all) || 1);
  return el(
    "span",
    { class: `goal-row${objective.cost ? " cost" : ""}` },
    el("span", { class: "goal-name" }, objective.name),
    el("span", { class: "bar" }, el("span", { class: "fill", vars: { "--share": share } })),
    el("span", { class: "goal-value" }, quantity(objective, value)),
  );
}

function ownGoal(agent, journey) {
  let command = [...(agent.front[Math.floor(agent.front.length / 2)] || agent.space.low)];
  const told = el("p", { class: "own-words" }, wishes(agent.objectives, command));
  const sliders = commandSliders(agent, agent.space, (changed) => {
    command = changed;
    told.textContent = wishes(agent.objectives, command);
  });
  sliders.show(command);
  const go = button("Ask for this", () => journey.setOut(command), { class: "primary" });
  return el("details", { class: "card own" }, el("summary", {}, "A wish of your own"), sliders.node, told, go);
}
