/** The view of an episode: the player, the decision, the answer, and the panels below. */

import { createAnswer } from "./answer.js";
import { el } from "./dom.js";
import { createExplore } from "./explore.js";
import { createDecision } from "./decision.js";
import { createPlayer } from "./player.js";
import { createShowMe } from "./show_me.js";

/** @param {HTMLElement} root */
export function showEpisode(root, scope, store, controller) {
  const { episode } = store.get();
  root.replaceChildren(
    el("h1", { class: "episode-title" }, `Asked for ${episode.command_text}`),
    el(
      "div",
      { class: "episode" },
      el("div", { class: "left" }, createPlayer(scope, store, controller)),
      el("div", { class: "right" }, createDecision(scope, store, controller), createAnswer(scope, store, controller)),
    ),
    createShowMe(scope),
    createExplore(scope, store, controller),
  );
}
