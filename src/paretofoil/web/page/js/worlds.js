/** The first look: worlds as cards with pictures, the trained agent first, others of the same world below it. */

import { pictureOf } from "./api.js";
import { button, el, refill, spoken } from "./dom.js";
import { isSaved } from "./saved.js";
import { uploadCard } from "./upload.js";
import { title } from "./words.js";

/** @param {HTMLElement} root */
export function showWorlds(root, store, journey) {
  const { agents } = store.get();
  const first = inOrder(agents.filter((agent) => !isVariant(agent, agents)));
  refill(
    root,
    el(
      "section",
      { class: "hero" },
      el("h1", {}, "Ask an agent: why not?"),
      el(
        "p",
        { class: "lead" },
        "Each of these agents does what you wish for. Pick a world, tell it what you want, watch, and ask why it did " +
          "not do something else. It answers with the smallest change of your wish that would have changed its mind.",
      ),
    ),
    el(
      "ul",
      { class: "worlds" },
      first.map((agent) => el("li", {}, worldCard(agent, variantsOf(agent, agents), journey))),
    ),
    !isSaved() && uploadCard(journey),
  );
}

/** Worlds that explain themselves come first. */
const EASY = ["deep-sea-treasure", "minecart", "resource-gathering", "breakable-bottles"];

function inOrder(agents) {
  const place = ({ environment }) => (EASY.includes(environment) ? EASY.indexOf(environment) : EASY.length);
  return [...agents].sort((a, b) => place(a) - place(b));
}

function isVariant(agent, agents) {
  return agent.name !== agent.environment && agents.some((other) => other.name === agent.environment);
}

function variantsOf(agent, agents) {
  return agents.filter(
    (other) => other !== agent && other.environment === agent.environment && isVariant(other, agents),
  );
}

function worldCard(agent, variants, journey) {
  const open = button("", () => journey.openAgent(agent.name), { class: "world" });
  open.append(
    el("span", { class: "world-picture" }, el("img", { src: pictureOf(agent), alt: "" })),
    el("span", { class: "world-name" }, agent.title || title(agent.name)),
    el("span", { class: "world-about" }, agent.about || ""),
    el(
      "span",
      { class: "chips" },
      agent.objectives.map((objective) => el("span", { class: "chip" }, objective.name)),
    ),
  );
  return el("article", { class: "card world-card" }, open, variants.length > 0 && others(agent, variants, journey));
}

function others(agent, variants, journey) {
  const doors = variants.map((variant) =>
    button(spoken("", shortName(agent, variant), ` ${agent.title}`), () => journey.openAgent(variant.name), {
      class: "quiet",
      title: variant.name,
    }),
  );
  return el("p", { class: "variants" }, el("span", {}, "Also: "), doors);
}

/** What sets a variant apart, in words where the name says it. */
function shortName(agent, variant) {
  if (variant.early) return "under-trained";
  if (variant.name === `${agent.name}-realised`) return "trained on realised returns";
  return variant.name;
}
