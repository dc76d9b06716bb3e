/** The panels below the episode, as tabs: whole episode, comparison, options. */

import { createCompare } from "./compare.js";
import { bringIntoView, button, el } from "./dom.js";
import { createOptions } from "./options.js";
import { isSaved } from "./saved.js";
import { createScope } from "./state.js";
import { createWholeEpisode } from "./whole_episode.js";

const ALL = [
  { id: "episode", label: "Whole episode", create: createWholeEpisode },
  { id: "compare", label: "Compare", create: createCompare },
  { id: "options", label: "Options", create: createOptions },
];
/** @param {import("./state.js").Store} store */
export function createExplore(scope, store, controller) {
  // A saved page has only what was saved with it; a policy without an environment has no episode.
  const isState = Boolean(store.get().agent.observation);
  const tabs = isSaved() ? ALL.slice(0, 1) : isState ? ALL.slice(2) : ALL;
  const panel = el("div", { class: "panel", role: "tabpanel", id: "panel" });
  const buttons = tabs.map((tab) =>
    button(tab.label, () => controller.explore(tab.id), {
      role: "tab",
      id: `tab-${tab.id}`,
      "aria-controls": "panel",
    }),
  );
  const bar = el(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Explore", on: { keydown: (event) => move(event) } },
    buttons,
  );
  const opener = button("", () => controller.explore(store.get().explore ? null : tabs[0].id), {
    class: "opener",
    "aria-controls": "explore",
  });
  const body = el("div", { id: "explore", class: "card explore-body" }, bar, panel);
  let inner = null,
    open = null;

  function move(event) {
    const at = buttons.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    controller.explore(tabs[next].id);
    buttons[next].focus();
  }

  scope.draw(["explore"], ({ explore }) => {
    opener.textContent = explore
      ? "Close"
      : `For researchers: ${isState ? "options" : "whole episode, comparison, options"}`;
    opener.setAttribute("aria-expanded", String(Boolean(explore)));
    body.hidden = !explore;
    tabs.forEach((tab, i) => {
      buttons[i].setAttribute("aria-selected", String(tab.id === explore));
      buttons[i].tabIndex = tab.id === explore ? 0 : -1;
    });
    if (explore === open) return;
    inner?.end();
    open = explore;
    const tab = tabs.find(({ id }) => id === explore);
    if (!tab) return panel.replaceChildren();
    inner = createScope(store); // ends when the tab is left, before the view ends
    panel.setAttribute("aria-labelledby", `tab-${tab.id}`);
    panel.replaceChildren(tab.create(inner, store, controller));
    bringIntoView(body);
  });
  scope.onEnd(() => inner?.end());

  return el("section", { class: "explore", "aria-label": "Explore" }, opener, body);
}
