/** The goals of an agent: the points of its front as cards, the front as a picture, and a command of your own. */

import { pictureOf, showPicture } from "./api.js";
import { button, el, refill } from "./dom.js";
import { frontPicture } from "./front_picture.js";
import { commandSliders } from "./sliders.js";
import { amount, quantity, title, commandText } from "./text.js";

/** Cards that are shown at first. */
const FIRST = 12;

/** @param {HTMLElement} root */
export function showGoals(root, store, controller) {
  const { agent } = store.get();
  const order = ordered(agent.front);
  const list = el("ul", { class: "goals" });
  const few = spread(order, FIRST);
  const fill = (shown) =>
    refill(
      list,
      shown.map((i) => el("li", {}, goalCard(agent, i, controller))),
    );
  const more =
    few.length < order.length &&
    button(`Show all ${order.length} goals`, () => (fill(order), more.remove()), { class: "quiet more" });
  fill(few);
  const legend =
    agent.objectives.some((objective) => objective.cost) &&
    el("p", { class: "small" }, "Striped bars are costs: the shorter, the better.");
  root.replaceChildren(
    el(
      "section",
      { class: "goal-head" },
      showPicture(
        el("img", { class: "goal-picture", alt: `The environment of ${agent.name} at the start` }),
        pictureOf(agent),
      ),
      el(
        "div",
        {},
        el("h1", {}, "What do you want?"),
        el("p", { class: "lead" }, agent.guide?.rules || agent.about),
        badges(agent),
        agent.uploaded && button("Delete this agent", () => controller.remove(agent.name)),
      ),
    ),
    el(
      "div",
      { class: agent.objectives.length === 2 ? "goal-body with-front" : "goal-body" },
      agent.objectives.length === 2 &&
        agent.front.length > 2 &&
        frontPicture(agent, (i) => controller.startEpisode(agent.front[i])),
      el("div", {}, list, more, legend, ownCommand(agent, controller)),
    ),
  );
}

function badges(agent) {
  const words = [
    agent.environment !== agent.name && title(agent.name),
    agent.early && "under-trained",
    agent.stochastic && "chance plays a part",
  ];
  return el(
    "p",
    { class: "chips" },
    words.filter(Boolean).map((word) => el("span", { class: "chip" }, word)),
  );
}

/** Return the indices of the front, sorted by the objectives. */
function ordered(front) {
  return front
    .map((_, i) => i)
    .sort((i, j) => {
      const k = front[i].findIndex((x, at) => x !== front[j][at]);
      return k < 0 ? 0 : front[i][k] - front[j][k];
    });
}

/** Return `count` indices spread over the order, or all if there are only a few more. */
function spread(order, count) {
  if (order.length <= count + 2) return order;
  return Array.from({ length: count }, (_, k) => order[Math.round((k * (order.length - 1)) / (count - 1))]);
}

function goalCard(agent, i, controller) {
  const point = agent.front[i];
  const card = button(el("span", { class: "hidden" }, "Ask for "), () => controller.startEpisode(point), {
    class: "card goal",
    title: agent.front_texts[i],
  });
  card.append(
    el("span", { class: "goal-label" }, goalName(agent, i)),
    el(
      "span",
      { class: "goal-rows" },
      agent.objectives.map((objective, j) => goalRow(agent, objective, point[j], j)),
    ),
  );
  return card;
}

/** Return a name for a goal: what it has most of, or least of a cost, among all goals of the agent. */
export function goalName({ objectives, front, guide }, i) {
  const isBest = (j) => front.every((point, k) => k === i || point[j] < front[i][j]);
  const best = objectives.flatMap((objective, j) =>
    isBest(j) ? [guide?.best[j] || `${objective.cost ? "Least" : "Most"} ${objective.name}`] : [],
  );
  if (best.length) return best.join(", ").replace(/, ([A-Z])/g, (_, letter) => `, ${letter.toLowerCase()}`);
  const rank = (j) => front.filter((point) => point[j] < front[i][j]).length / Math.max(1, front.length - 1);
  const ranks = objectives.map((_, j) => rank(j));
  if (objectives.length === 2) return title(commandText(objectives, front[i]));
  const order = objectives.map((_, j) => j).sort((a, b) => ranks[b] - ranks[a]);
  const [first, second] = order.map((j) => objectives[j]);
  const also = ranks[order[1]] >= 0.5 ? `, ${second.cost ? "little" : "some"} ${second.name}` : "";
  return `${first.cost ? "Little" : "Rich in"} ${first.name}${also}`;
}

/** Return one objective of a command as a bar. */
export function goalRow(agent, objective, value, j) {
  const most = Math.max(...agent.front.map((point) => Math.abs(amount(objective, point[j])))) || 1;
  const share = Math.abs(amount(objective, value)) / most;
  const unit = 10 ** (Math.floor(Math.log10(most)) - 2); // three digits of the largest: of 9.5 beside it, 0.00888 is 0.01
  const rounded = objective.probability ? value : Math.round(value / unit) * unit;
  return el(
    "span",
    { class: `goal-row${objective.cost ? " cost" : ""}` },
    el("span", { class: "goal-name" }, objective.name),
    el("span", { class: "bar" }, el("span", { class: "fill", vars: { "--share": share } })),
    el("span", { class: "goal-value" }, quantity(objective, rounded)),
  );
}

function ownCommand(agent, controller) {
  let command = [...(agent.front[Math.floor(agent.front.length / 2)] || agent.space.low)];
  const text = el("p", { class: "own-command" }, commandText(agent.objectives, command));
  const sliders = commandSliders(agent, agent.space, (changed) => {
    command = changed;
    text.textContent = commandText(agent.objectives, command);
  });
  sliders.show(command);
  const go = button("Ask for this", () => controller.startEpisode(command), { class: "primary" });
  return el("details", { class: "card own" }, el("summary", {}, "Your own command"), sliders.node, text, go);
}
