/** The page begins here: one state, one view at a time, and the address that follows them. */

import { button, calm, copy, el, kindly } from "./dom.js";
import { showEpisode } from "./episode.js";
import { showGoals } from "./goals.js";
import { createJourney } from "./journey.js";
import { readLink, writeLink } from "./link.js";
import { createScope, createStore } from "./state.js";
import { isDark, startTheme, turnTheme } from "./theme.js";
import { title } from "./words.js";
import { showWorlds } from "./worlds.js";

const store = createStore();
const journey = createJourney(store);
const root = document.getElementById("view");
let scope = createScope(store);

function drawView(state) {
  scope.end();
  scope = createScope(store);
  if (state.view === "worlds") showWorlds(root, store, journey);
  if (state.view === "goals") showGoals(root, store, journey);
  if (state.view === "episode") showEpisode(root, scope, store, journey);
  drawCrumbs(state);
  window.scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

function drawCrumbs({ view, agent, episode }) {
  const crumbs = [button("Worlds", () => journey.showWorlds(), { "aria-current": view === "worlds" ? "page" : null })];
  if (agent)
    crumbs.push(
      button(agent.title || title(agent.name), () => journey.openAgent(agent.name), {
        "aria-current": view === "goals" ? "page" : null,
      }),
    );
  if (agent && episode && view === "episode") crumbs.push(el("span", { "aria-current": "page" }, episode.command_text));
  document.getElementById("crumbs").replaceChildren(...crumbs);
  document.title = agent ? `${agent.title || title(agent.name)} · Paretofoil` : "Paretofoil: why not?";
}

/** A new view is a step that one can go back from; everything else changes the address in place. */
function drawLink(state) {
  const wanted = writeLink(state);
  if (wanted === window.location.hash.slice(1)) return;
  const before = readLink(window.location.hash);
  const now = readLink(wanted);
  const step = before?.agent !== now?.agent || String(before?.command) !== String(now?.command);
  window.history[step ? "pushState" : "replaceState"](null, "", wanted ? `#${wanted}` : window.location.pathname);
}

/** What went wrong; trying again helps only where the same request may succeed. */
function drawProblem({ problem }) {
  document.getElementById("problem")?.remove();
  if (!problem) return;
  const again = !problem.error.status || problem.error.status >= 500;
  const box = kindly(problem.error, again ? problem.retry : null);
  box.id = "problem";
  box.append(button("To the worlds", () => journey.showWorlds()));
  root.before(box);
  root.querySelector(".loading")?.remove();
}

function follow() {
  const link = readLink(window.location.hash);
  return link ? journey.restore(link) : journey.showWorlds();
}

function drawTools() {
  const turn = button("", () => (turnTheme(), show()), { class: "round theme" });
  const show = () => {
    turn.textContent = isDark() ? "☀" : "☾";
    turn.setAttribute("aria-label", isDark() ? "Turn the page light" : "Turn the page dark");
    store.set({ dark: isDark() });
  };
  startTheme(show);
  show();
  const link = button("Copy link", () => copy(window.location.href, link), {
    title: "This very view, for somebody else",
  });
  store.watch(["view"], ({ view }) => (link.hidden = view === "worlds"));
  link.hidden = true;
  document.getElementById("tools").replaceChildren(link, turn);
}

/** What tests and benchmarks look at; the milliseconds of the map's last draft, and of the whole map behind it. */
window.paretofoil = { store, journey, lastRedraw: null, lastWhole: null };

drawTools();
store.watch(["view", "agent", "episode", "agents"], drawView);
store.watch(
  ["view", "agent", "episode", "time", "foil", "options", "explore", "axes", "zoom", "probe", "beside"],
  drawLink,
);
store.watch(["problem"], drawProblem);
document.getElementById("home").addEventListener("click", (event) => (event.preventDefault(), journey.showWorlds()));
window.addEventListener("hashchange", () => {
  if (window.location.hash.slice(1) !== writeLink(store.get())) follow();
});
if (calm()) document.documentElement.classList.add("calm");
follow();
