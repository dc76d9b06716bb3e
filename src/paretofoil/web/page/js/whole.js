/** The whole episode at once: where the wish matters, and where a small change of it would have changed the course. */

import { offers, work } from "./api.js";
import { button, el, kindly, refill } from "./dom.js";
import { flipMap } from "./flip_map.js";
import { influenceProfile, momentsOf } from "./influence.js";
import { IDLE, cellsOf } from "./state.js";

/** Seconds that each question of the map may take. */
const SECONDS = 2;

/** @param {import("./state.js").Store} store */
export function createWhole(scope, store, journey) {
  const flips = el("div", { class: "whole-part" });
  const influence = el("div", { class: "whole-part" });
  const running = {};

  /** Long work that is kept in the state, shown while it goes on, and stopped when one leaves. */
  async function run(key, kind, extra) {
    const { agent, command, seed, episode } = store.get();
    running[key] = new AbortController();
    const put = (changes) => store.get().episode === episode && store.set({ [key]: { ...IDLE, ...changes } });
    put({ status: "waiting" });
    try {
      const onProgress = (progress, partial) => put({ status: "waiting", progress, partial });
      const result = await work(
        kind,
        { agent: agent.name, command, seed, ...extra },
        { signal: running[key].signal, onProgress },
      );
      put({ status: "done", result });
    } catch (error) {
      put(error.name === "AbortError" ? { status: "cancelled" } : { status: "failed", error });
    }
  }

  const askFlips = () => run("flips", "flip-maps", { search: "auto", seconds: SECONDS });
  const askInfluence = () => run("influence", "influence", { times: null, seconds: SECONDS });
  const stop = (key) => running[key]?.abort();

  scope.draw(["flips", "time"], (state) =>
    refill(
      flips,
      el("h3", {}, "How far the wish would have to move"),
      el(
        "p",
        { class: "small" },
        "Every moment against everything else it could have done. Pick a cell to ask about it.",
      ),
      offer(state.flips, "Ask about every moment", askFlips, () => stop("flips")),
      state.flips.status !== "idle" &&
        flipMap(state, cellsOf(state.flips), (time, foil) => (journey.goTo(time), journey.ask(foil))),
    ),
  );
  scope.draw(["influence", "time"], (state) =>
    refill(
      influence,
      el("h3", {}, "Does the wish matter here?"),
      el("p", { class: "small" }, "At each moment, of all wishes: how many lead to which action."),
      offer(state.influence, "Measure the influence", askInfluence, () => stop("influence")),
      influenceProfile(state, momentsOf(state.influence), journey.goTo),
    ),
  );
  influence.hidden = true;
  offers("influence").then(
    (can) => (influence.hidden = !can),
    () => {},
  );
  scope.onEnd(() => Object.keys(running).forEach(stop));
  return el("div", { class: "whole" }, flips, influence);
}

function offer(job, label, start, stop) {
  if (job.status === "waiting") {
    return el(
      "div",
      { class: "waiting" },
      el("progress", { max: 1, value: job.progress, "aria-label": label }),
      button("Cancel", stop, { class: "cancel" }),
    );
  }
  if (job.status === "failed") return kindly(job.error, start);
  return job.status === "done" ? null : button(label, start, { class: "primary" });
}
