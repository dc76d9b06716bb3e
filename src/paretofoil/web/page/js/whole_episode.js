/** The panel about the whole episode: the flip map and the influence of the command. */

import { offers, work } from "./api.js";
import { button, el, errorBox, refill, save } from "./dom.js";
import { flipMap } from "./flip_map.js";
import { influenceProfile, influenceSteps } from "./influence.js";
import { IDLE, cellsOf } from "./state.js";

/** Time limit of each question, in seconds. */
const SECONDS = 2;

/** @param {import("./state.js").Store} store */
export function createWholeEpisode(scope, store, controller) {
  const flips = el("div", { class: "whole-part" });
  const influence = el("div", { class: "whole-part" });
  const running = {};

  /** Run a job, show its progress, and stop it when the panel closes. */
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
  const askInfluence = () => run("influence", "influence", { steps: null, seconds: SECONDS });
  const stop = (key) => running[key]?.abort();

  scope.draw(["flips", "step"], (state) =>
    refill(
      flips,
      el("h3", {}, "The smallest change for every step and action"),
      el(
        "p",
        { class: "small" },
        "Each cell is a question: why not this action at this step? Choose a cell to see its answer.",
      ),
      startOrProgress(state.flips, "Ask about every step", askFlips, () => stop("flips")),
      state.flips.status !== "idle" && flipMap(state, cellsOf(state.flips), controller.askAt),
      state.flips.status === "done" &&
        button("Save as CSV", () =>
          save(`${state.agent.name}-flips.csv`, cellsCsv(state.agent, cellsOf(state.flips)), "text/csv"),
        ),
    ),
  );
  scope.draw(["influence", "step"], (state) =>
    refill(
      influence,
      el("h3", {}, "Does the command matter?"),
      el(
        "p",
        { class: "small" },
        state.agent.amounts
          ? "For each step: the smallest and the largest amount that a command leads to."
          : "For each step: the share of commands that lead to each action.",
      ),
      startOrProgress(state.influence, "Measure the influence", askInfluence, () => stop("influence")),
      influenceProfile(state, influenceSteps(state.influence), controller.goToStep),
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

/** Return the flip map as a table: one row for each question, with the library's sentence. */
function cellsCsv(agent, cells) {
  const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const rows = cells.map((cell) => [cell.step, agent.actions[cell.foil], cell.status, cell.distance, cell.sentence]);
  return [["step", "foil", "status", "distance", "sentence"], ...rows]
    .map((row) => `${row.map(quoted).join(",")}\r\n`)
    .join("");
}

function startOrProgress(job, label, start, stop) {
  if (job.status === "waiting") {
    return el(
      "div",
      { class: "waiting" },
      el("progress", { max: 1, value: job.progress, "aria-label": label }),
      button("Cancel", stop, { class: "cancel" }),
    );
  }
  if (job.status === "failed") return errorBox(job.error, start);
  return job.status === "done" ? null : button(label, start, { class: "primary" });
}
