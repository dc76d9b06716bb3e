/** The episode: the stage, the moment, the answer, and what experts open below. */

import { createAnswer } from "./answer.js";
import { el } from "./dom.js";
import { createExplore } from "./explore.js";
import { createMoment } from "./moment.js";
import { createPlayer } from "./player.js";
import { createShowMe } from "./show_me.js";

/** @param {HTMLElement} root */
export function showEpisode(root, scope, store, journey) {
  const { episode } = store.get();
  root.replaceChildren(
    el("h1", { class: "episode-title" }, `Asked for ${episode.command_text}`),
    el(
      "div",
      { class: "episode" },
      el("div", { class: "left" }, createPlayer(scope, store, journey)),
      el("div", { class: "right" }, createMoment(scope, store, journey), createAnswer(scope, store, journey)),
    ),
    createShowMe(scope, store),
    createExplore(scope, store, journey),
  );
}
