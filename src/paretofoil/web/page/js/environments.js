/** The start view: environments as cards with pictures. Each card has the trained agent first, then its variants. */

import { pictureOf } from "./api.js";
import { button, el, refill, withHiddenText } from "./dom.js";
import { isSaved } from "./saved.js";
import { title } from "./text.js";
import { uploadCard } from "./upload.js";

const LEAD =
  "Each of these agents takes a command: you say what it should get. Choose an agent, watch it, and ask why it did not " +
  "do something else. The answer is the smallest change of your command that would have made it do that.";

const STATE_LEAD =
  "Set the state of a policy, and ask why it does not choose another action in this state. The answer is the smallest " +
  "change of the state that makes the policy choose that action.";

/** @param {HTMLElement} root */
export function showEnvironments(root, store, controller, openHelp) {
  const { agents } = store.get();
  const first = inOrder(agents.filter((agent) => !isVariant(agent, agents)));
  refill(
    root,
    el(
      "section",
      { class: "hero" },
      el("h1", {}, "Ask an agent: why not?"),
      el("p", { class: "lead" }, agents.every(isPolicy) ? STATE_LEAD : LEAD, " ", button("How this works, in one minute", openHelp, { class: "quiet" })),
    ),
    el(
      "ul",
      { class: "environments" },
      first.map((agent) => el("li", {}, environmentCard(agent, variantsOf(agent, agents), controller))),
    ),
    !isSaved() && uploadCard(controller),
  );
}

/** Return whether it is a policy without an environment, whose state is set. */
const isPolicy = (agent) => agent.picture === null;

/** Environments that need the least explanation come first. */
const EASY = ["deep-sea-treasure", "minecart", "resource-gathering", "breakable-bottles"];

function inOrder(agents) {
  const rank = ({ environment }) => (EASY.includes(environment) ? EASY.indexOf(environment) : EASY.length);
  return [...agents].sort((a, b) => rank(a) - rank(b));
}

function isVariant(agent, agents) {
  return agent.name !== agent.environment && agents.some((other) => other.name === agent.environment);
}

function variantsOf(agent, agents) {
  return agents.filter(
    (other) => other !== agent && other.environment === agent.environment && isVariant(other, agents),
  );
}

function environmentCard(agent, variants, controller) {
  const name = agent.title || title(agent.name);
  const open = button(name, () => controller.openFirst(agent.name), { class: "environment" });
  return el(
    "article",
    { class: "card environment-card" },
    !isPolicy(agent) &&
      el("div", { class: "environment-picture" }, el("img", { src: pictureOf(agent), alt: "" })),
    el("h2", {}, open),
    el("p", { class: "environment-about" }, agent.about || ""),
    el(
      "p",
      { class: "chips" },
      el("span", { class: "chips-label" }, isPolicy(agent) ? "May change:" : "Command:"),
      agent.objectives.map((objective) => el("span", { class: "chip" }, objective.name)),
    ),
    variants.length > 0 && variantButtons(agent, variants, controller),
  );
}

function variantButtons(agent, variants, controller) {
  const buttons = variants.map((variant) =>
    button(withHiddenText("", shortName(agent, variant), ` ${agent.title}`), () => controller.openFirst(variant.name), {
      class: "quiet",
      title: variant.name,
    }),
  );
  return el("p", { class: "variants" }, el("span", {}, "Also: "), buttons);
}

/** Return how a variant differs. */
function shortName(agent, variant) {
  if (variant.early) return "under-trained";
  if (variant.name === `${agent.name}-realised`) return "trained on realised returns";
  return variant.name;
}
