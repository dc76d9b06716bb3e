/** The entry point of the page: one state, one view at a time, and the address that follows them. */

import { button, copy, el, errorBox, prefersReducedMotion } from "./dom.js";
import { createController } from "./controller.js";
import { showEnvironments } from "./environments.js";
import { showEpisode } from "./episode.js";
import { showGoals } from "./goals.js";
import { readLink, writeLink } from "./link.js";
import { createHelp } from "./help.js";
import { isInNotebook } from "./notebook.js";
import { isSaved } from "./saved.js";
import { moveBy } from "./stage.js";
import { createScope, createStore } from "./state.js";
import { title } from "./text.js";
import { isDark, startTheme, toggleTheme } from "./theme.js";

const store = createStore();
const controller = createController(store);
const root = document.getElementById("view");
const help = createHelp();
let scope = createScope(store);

function drawView(state) {
  scope.end();
  scope = createScope(store);
  if (state.view === "environments") showEnvironments(root, store, controller, help.open);
  if (state.view === "goals") showGoals(root, store, controller);
  if (state.view === "episode") showEpisode(root, scope, store, controller);
  drawBreadcrumbs(state);
  window.scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

function drawBreadcrumbs({ view, agent, episode }) {
  const name = agent && (agent.title || title(agent.name));
  const hasStart = view !== "environments" && !hasOneAgent();
  const links = hasStart ? [button("Environments", () => controller.showEnvironments())] : [];
  const current = { "aria-current": view === "goals" ? "page" : null };
  if (agent && !isSaved()) links.push(button(name, () => controller.openAgent(agent.name), current));
  const last = agent && episode && view === "episode" && el("span", { "aria-current": "page" }, episode.command_text);
  document.getElementById("crumbs").replaceChildren(...links, ...(last ? [last] : []));
  document.title = agent ? `${name} · Paretofoil` : "Paretofoil: why not?";
}

/** Return whether the page is about one agent: a saved page, or one in a notebook. */
const hasOneAgent = () => isSaved() || isInNotebook();

/** Another agent or command is a new entry of the history. Everything else changes the address in place. */
function drawLink(state) {
  const link = writeLink(state);
  if (link === window.location.hash.slice(1)) return;
  const before = readLink(window.location.hash);
  const now = readLink(link);
  const isNew = before?.agent !== now?.agent || String(before?.command) !== String(now?.command);
  window.history[isNew && !isInNotebook() ? "pushState" : "replaceState"](null, "", link ? `#${link}` : window.location.pathname);
}

/** Show an error. Trying again is offered only where the same request may succeed. */
function drawProblem({ problem }) {
  document.getElementById("problem")?.remove();
  if (!problem) return;
  const mayRetry = !problem.error.status || problem.error.status >= 500;
  const box = errorBox(problem.error, mayRetry ? problem.retry : null);
  box.id = "problem";
  if (!hasOneAgent()) box.append(button("Show all environments", () => controller.showEnvironments()));
  root.before(box);
  root.querySelector(".loading")?.remove();
}

function openAddress() {
  const link = readLink(window.location.hash);
  if (!link) return controller.showEnvironments();
  return isInNotebook() && !link.command ? controller.openFirst(link.agent) : controller.openLink(link);
}

function drawTools() {
  const toggle = button("", () => (toggleTheme(), show()), { class: "round theme" });
  const show = () => {
    toggle.textContent = isDark() ? "☀" : "☾";
    toggle.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
    store.set({ dark: isDark() });
  };
  startTheme(show);
  show();
  const link = button("Copy link", () => copy(window.location.href, link), { title: "A link to this view" });
  store.watch(["view"], ({ view }) => (link.hidden = view === "environments" || isInNotebook()));
  link.hidden = true;
  const ask = button("?", help.open, { class: "round", "aria-label": "How this works", title: "How this works (?)" });
  document.getElementById("tools").replaceChildren(link, ask, toggle);
  document.body.append(help.node);
}

/** Space plays and stops, arrows step, End shows the end, and ? explains. */
function pressKey(event) {
  const inControl = event.target.closest?.(
    "input, select, textarea, button, summary, canvas, dialog, [role=tab], .flip-scroll",
  );
  if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || (inControl && event.key !== "?"))
    return;
  if (event.key === "?" && !event.target.closest?.("input")) return help.open();
  if (store.get().view !== "episode" || store.get().agent.observation) return;
  const run = {
    " ": () => controller.play(!store.get().playing),
    ArrowLeft: () => (controller.play(false), moveBy(store, controller, -1)),
    ArrowRight: () => (controller.play(false), moveBy(store, controller, 1)),
    End: () => (controller.play(false), moveBy(store, controller, Infinity)),
    Escape: () => controller.closeRollout(),
  }[event.key];
  if (!run) return;
  event.preventDefault();
  run();
}

/** For tests and benchmarks; the times are milliseconds of the map's last draft, and of the last whole map. */
window.paretofoil = { store, controller, lastRedraw: null, lastWhole: null };

drawTools();
store.watch(["view", "agent", "episode", "agents"], drawView);
store.watch(
  ["view", "agent", "episode", "step", "foil", "settings", "explore", "axes", "zoom", "probe", "comparison"],
  drawLink,
);
store.watch(["problem"], drawProblem);
store.watch(["busy"], ({ busy }) => {
  document.getElementById("busy").hidden = !busy;
  root.setAttribute("aria-busy", String(busy));
});
window.addEventListener("keydown", pressKey);
document.getElementById("home").addEventListener("click", (event) => {
  event.preventDefault();
  if (!hasOneAgent()) controller.showEnvironments();
});
window.addEventListener("hashchange", () => {
  if (window.location.hash.slice(1) !== writeLink(store.get())) openAddress();
});
if (prefersReducedMotion()) document.documentElement.classList.add("reduced-motion");
openAddress();
