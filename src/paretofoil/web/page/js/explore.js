/** One click deeper: the command space, the whole episode, comparisons and options, as tabs. */

import { createCommandSpace } from "./command_space.js";
import { createCompare } from "./compare.js";
import { button, el } from "./dom.js";
import { createOptions } from "./options.js";
import { createScope } from "./state.js";
import { createWhole } from "./whole.js";

const TABS = [
  { id: "space", label: "Command space", make: createCommandSpace },
  { id: "episode", label: "Whole episode", make: createWhole },
  { id: "compare", label: "Compare", make: createCompare },
  { id: "options", label: "Options", make: createOptions },
];

/** @param {import("./state.js").Store} store */
export function createExplore(scope, store, journey) {
  const panel = el("div", { class: "panel", role: "tabpanel", id: "panel" });
  const tabs = TABS.map((tab) =>
    button(tab.label, () => journey.explore(tab.id), {
      role: "tab",
      id: `tab-${tab.id}`,
      "aria-controls": "panel",
    }),
  );
  const bar = el(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Explore", on: { keydown: (event) => move(event) } },
    tabs,
  );
  const opener = button("", () => journey.explore(store.get().explore ? null : "space"), {
    class: "opener",
    "aria-controls": "explore",
  });
  const body = el("div", { id: "explore", class: "card explore-body" }, bar, panel);
  let inner = null,
    made = null;

  function move(event) {
    const at = tabs.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = (to + tabs.length) % tabs.length;
    journey.explore(TABS[next].id);
    tabs[next].focus();
  }

  scope.draw(["explore"], ({ explore }) => {
    opener.textContent = explore ? "Close the explorer" : "Explore more";
    opener.setAttribute("aria-expanded", String(Boolean(explore)));
    body.hidden = !explore;
    TABS.forEach((tab, i) => {
      tabs[i].setAttribute("aria-selected", String(tab.id === explore));
      tabs[i].tabIndex = tab.id === explore ? 0 : -1;
    });
    if (explore === made) return;
    inner?.end();
    made = explore;
    const tab = TABS.find(({ id }) => id === explore);
    if (!tab) return panel.replaceChildren();
    inner = createScope(store); // a tab that is left stops watching before the view does
    panel.setAttribute("aria-labelledby", `tab-${tab.id}`);
    panel.replaceChildren(tab.make(inner, store, journey));
  });
  scope.onEnd(() => inner?.end());

  return el("section", { class: "explore", "aria-label": "Explore" }, opener, body);
}
