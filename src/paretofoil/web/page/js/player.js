/** The stage: the picture of the moment, the steps below it, and what plays them. */

import { announce, button, el } from "./dom.js";
import { momentsOf } from "./influence.js";
import { sign, signed } from "./words.js";

/** Milliseconds per step: a short episode slower than a long one. */
const pace = (count) => Math.max(180, Math.min(650, 9000 / count));

/** @param {import("./state.js").Store} store */
export function createPlayer(scope, store, journey) {
  const { agent, episode } = store.get();
  const last = episode.decisions.length - 1;
  const picture = el("img", { class: "scene" });
  const play = button("", () => turn(), { class: "primary play" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    class: "time",
    "aria-label": "Moment of the episode",
    on: { input: () => go(Number(slider.value)) },
  });
  const steps = el(
    "div",
    { class: "steps", "aria-hidden": "true" },
    episode.decisions.map((decision, i) => step(agent, decision, () => go(i))),
  );
  let timer = 0;

  function go(time) {
    store.set({ playing: false });
    journey.goTo(time);
  }

  function turn() {
    if (store.get().playing) return store.set({ playing: false });
    if (store.get().time === last) journey.goTo(0);
    store.set({ playing: true });
  }

  function tick() {
    if (store.get().time >= last) return store.set({ playing: false });
    journey.goTo(store.get().time + 1);
  }

  scope.draw(["time"], ({ time }) => {
    const decision = episode.decisions[time];
    picture.src = decision.picture;
    const step = `step ${time + 1} of ${last + 1}, ${agent.actions[decision.action]}`;
    picture.alt = `The world at ${step}`;
    slider.value = time;
    slider.setAttribute("aria-valuetext", step);
    [...steps.children].forEach((mark, i) => mark.classList.toggle("now", i === time));
    if (last > 24) steps.children[time].scrollIntoView?.({ block: "nearest", inline: "nearest" });
    preload(episode.decisions[time + 1]);
  });
  scope.draw(["playing"], ({ playing, time }) => {
    clearInterval(timer);
    if (playing) timer = setInterval(tick, pace(last + 1));
    play.textContent = playing ? "Pause" : time === last ? "Watch again" : "Watch";
    if (!playing && time === last && last > 0) announce(`The episode is over. It got ${episode.achieved_text}.`);
  });
  scope.draw(["influence"], ({ influence }) => {
    for (const moment of momentsOf(influence)) {
      steps.children[moment.time].classList.add("measured");
      steps.children[moment.time].style.setProperty("--influence", moment.changed[1].toFixed(3));
    }
  });
  scope.onEnd(() => clearInterval(timer));

  const controls = el(
    "div",
    { class: "controls" },
    button("◀", () => go(store.get().time - 1), { "aria-label": "One step back", class: "round" }),
    play,
    button("▶", () => go(store.get().time + 1), { "aria-label": "One step forward", class: "round" }),
    slider,
  );
  return el(
    "section",
    { class: "card stage", "aria-label": "The episode" },
    el("div", { class: "frame" }, picture),
    controls,
    steps,
  );
}

function step(agent, decision, run) {
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
