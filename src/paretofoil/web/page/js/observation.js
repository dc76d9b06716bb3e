/** The state of a policy with free features: the visitor sets each number of it. There are no pictures of it. */

import { el } from "./dom.js";
import { decisionOf } from "./state.js";

/**
 * @param {import("./state.js").Store} store
 * @param {import("./controller.js").Controller} controller
 */
export function createObservation(store, controller) {
  const { agent } = store.get();
  const { state } = decisionOf(store.get());
  const inputs = agent.observation.names.map((name, i) =>
    el("input", { type: "number", step: "any", id: `observation-${i}`, value: state[i], required: true }),
  );
  function submit(event) {
    event.preventDefault();
    controller.startEpisode(
      inputs.map(({ value }) => Number(value)),
      { play: false },
    );
  }
  return el(
    "form",
    { class: "card observation", "aria-label": "The state", on: { submit } },
    el("h2", {}, "The state"),
    el("p", { class: "small" }, "Set each number of the observation. Nothing is rolled out: the policy is asked once."),
    el(
      "div",
      { class: "observation-numbers" },
      agent.observation.names.map((name, i) =>
        el("p", { class: "field" }, el("label", { for: inputs[i].id }, name), inputs[i]),
      ),
    ),
    el("button", { type: "submit", class: "primary" }, "What does it do here?"),
  );
}
