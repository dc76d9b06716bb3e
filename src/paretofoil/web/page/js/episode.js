/** The view of an episode: stage, decision, answer and live command side by side, and the panels below. */

import { createAnswer } from "./answer.js";
import { createCommandSpace } from "./command_space.js";
import { createDecision } from "./decision.js";
import { button, el } from "./dom.js";
import { createExplore } from "./explore.js";
import { isSaved } from "./saved.js";
import { createStage } from "./stage.js";

/** @param {HTMLElement} root */
export function showEpisode(root, scope, store, controller) {
  const { agent, episode } = store.get();
  const release = () => !isSaved() && store.get().probe && controller.showRollout(store.get().probe, "probe");
  const hint = "Drag it, or type: the agent turns. Let go, and it acts.";
  root.replaceChildren(
    el(
      "div",
      { class: "episode-head" },
      el("h1", { class: "episode-title" }, `You asked for ${episode.command_text}`),
      !isSaved() && button("Ask for something else", () => controller.openAgent(agent.name), { class: "other-goal" }),
      el("p", { class: "rules" }, agent.guide?.rules || agent.about),
    ),
    el(
      "div",
      { class: "episode" },
      el("div", { class: "left" }, createStage(scope, store, controller)),
      el("div", { class: "right" }, createDecision(scope, store, controller), createAnswer(scope, store, controller)),
      el(
        "section",
        { class: "card live", "aria-label": "Your command" },
        el("h2", {}, "What if you asked for something else?"),
        el("p", { class: "small" }, isSaved() ? "Drag it, or type: see what the agent would do." : hint),
        createCommandSpace(scope, store, controller, release),
      ),
    ),
    createExplore(scope, store, controller),
  );
}
