/** The player: the picture of the current step, the steps below it, and the buttons that play them. */

import { announce, button, el } from "./dom.js";
import { influenceSteps } from "./influence.js";
import { sign, signed } from "./text.js";

/** Return the milliseconds per step. Long episodes play faster. */
const pace = (count) => Math.max(180, Math.min(650, 9000 / count));

/** @param {import("./state.js").Store} store */
export function createPlayer(scope, store, controller) {
  const { agent, episode } = store.get();
  const last = episode.decisions.length - 1;
  const picture = el("img", { class: "scene" });
  const play = button("", () => togglePlay(), { class: "primary play" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    class: "step-slider",
    "aria-label": "Step of the episode",
    on: { input: () => go(Number(slider.value)) },
  });
  const marks = el(
    "div",
    { class: "steps", "aria-hidden": "true" },
    episode.decisions.map((decision, i) => stepMark(agent, decision, () => go(i))),
  );
  let timer = 0;

  function go(step) {
    store.set({ playing: false });
    controller.goToStep(step);
  }

  function togglePlay() {
    if (store.get().playing) return store.set({ playing: false });
    if (store.get().step === last) controller.goToStep(0);
    store.set({ playing: true });
  }

  function playOn() {
    if (store.get().step >= last) return store.set({ playing: false });
    controller.goToStep(store.get().step + 1);
  }

  scope.draw(["step"], ({ step }) => {
    const decision = episode.decisions[step];
    const label = `step ${step + 1} of ${last + 1}, ${agent.actions[decision.action]}`;
    picture.src = decision.picture;
    picture.alt = `The environment at ${label}`;
    slider.value = String(step);
    slider.setAttribute("aria-valuetext", label);
    [...marks.children].forEach((mark, i) => mark.classList.toggle("now", i === step));
    if (last > 24) marks.children[step].scrollIntoView?.({ block: "nearest", inline: "nearest" });
    preload(episode.decisions[step + 1]);
  });
  scope.draw(["playing"], ({ playing, step }) => {
    clearInterval(timer);
    if (playing) timer = setInterval(playOn, pace(last + 1));
    play.textContent = playing ? "Pause" : step === last ? "Play again" : "Play";
    if (!playing && step === last && last > 0) announce(`The episode ends with ${episode.achieved_text}.`);
  });
  scope.draw(["influence"], ({ influence }) => {
    for (const { step, changed } of influenceSteps(influence)) {
      const mark = /** @type {HTMLElement} */ (marks.children[step]);
      mark.classList.add("measured");
      mark.style.setProperty("--influence", changed[1].toFixed(3));
    }
  });
  scope.onEnd(() => clearInterval(timer));

  const controls = el(
    "div",
    { class: "controls" },
    button("◀", () => go(store.get().step - 1), { "aria-label": "One step back", class: "round" }),
    play,
    button("▶", () => go(store.get().step + 1), { "aria-label": "One step forward", class: "round" }),
    slider,
  );
  return el(
    "section",
    { class: "card stage", "aria-label": "The episode" },
    el("div", { class: "frame" }, picture),
    controls,
    marks,
  );
}

function stepMark(agent, decision, run) {
  const name = agent.actions[decision.action];
  return el(
    "span",
    { class: "step", title: `${decision.step + 1}: ${signed(name)}`, on: { click: run } },
    sign(name) || name.slice(0, 2),
  );
}

function preload(decision) {
  if (decision) new Image().src = decision.picture;
}
