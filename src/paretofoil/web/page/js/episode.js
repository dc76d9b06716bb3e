/** The view of an episode: stage, decision, answer and live command side by side, and the panels below. */

import { createAnswer } from "./answer.js";
import { createCommandSpace } from "./command_space.js";
import { createDecision } from "./decision.js";
import { button, el } from "./dom.js";
import { createExplore } from "./explore.js";
import { createOutcomeMap } from "./outcome_map.js";
import { createObservation } from "./observation.js";
import { isSaved } from "./saved.js";
import { createStage } from "./stage.js";
import { whatChanges } from "./text.js";

/** @param {HTMLElement} root */
export function showEpisode(root, scope, store, controller) {
  const { agent, episode } = store.get();
  const isState = Boolean(agent.observation);
  root.replaceChildren(
    el(
      "div",
      { class: "episode-head" },
      el("h1", { class: "episode-title" }, isState ? "Why not something else here?" : `You asked for ${episode.command_text}`),
      !isSaved() && !isState && button("Ask for something else", () => controller.openAgent(agent.name), { class: "other-goal" }),
      el("p", { class: "rules" }, agent.guide?.rules || agent.about),
    ),
    el(
      "div",
      { class: "episode" },
      el("div", { class: "left" }, isState ? createObservation(store, controller) : createStage(scope, store, controller)),
      el("div", { class: "right" }, createDecision(scope, store, controller), createAnswer(scope, store, controller)),
      el(
        "section",
        { class: "card live", "aria-label": isState ? `Another ${whatChanges(agent)}` : "Your command" },
        el("h2", {}, isState ? `What if the ${whatChanges(agent)} were different?` : "What if you asked for something else?"),
        liveMaps(scope, store, controller),
      ),
    ),
    createExplore(scope, store, controller),
  );
}

/** Return the live command with its map: what the agent would do now, or how every command ends. */
function liveMaps(scope, store, controller) {
  const { agent } = store.get();
  const canRollOut = !isSaved() && !agent.observation;
  const release = () => canRollOut && store.get().probe && controller.showRollout(store.get().probe, "probe");
  const turns = agent.amounts ? "the amount changes" : "the arrow turns";
  const hint = canRollOut ? `${turns}. Let go, and the agent acts.` : "you see what the agent would do.";
  const now = el(
    "div",
    { class: "map-now" },
    el("p", { class: "small" }, `Move a slider${agent.objectives.length > 1 ? ", drag the dot on the map," : ""} or type a number: ${hint}`),
    createCommandSpace(scope, store, controller, release),
  );
  if (!agent.atlas || isSaved()) return now;
  const later = el("div", { hidden: true });
  const buttons = ["What it does now", "How it ends"].map((label, i) =>
    button(label, () => show(i), { "aria-pressed": String(!i) }),
  );
  /** The map of outcomes is computed when it is first shown. */
  function show(which) {
    if (which && !later.firstChild) later.append(createOutcomeMap(scope, store, controller));
    now.hidden = Boolean(which);
    later.hidden = !which;
    buttons.forEach((one, i) => one.setAttribute("aria-pressed", String(i === which)));
  }
  return el("div", {}, el("div", { class: "switch", role: "group", "aria-label": "Map" }, buttons), now, later);
}
