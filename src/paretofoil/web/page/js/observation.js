/**
 * The state of a policy with free features, and its command if it has one: the visitor sets each number. There are no
 * pictures of them.
 */

import { el } from "./dom.js";
import { amount, fromAmount, whatChanges } from "./text.js";

/**
 * @param {import("./state.js").Store} store
 * @param {import("./controller.js").Controller} controller
 */
export function createObservation(store, controller) {
  const { agent, episode } = store.get();
  const { names, num_commands: count } = agent.observation;
  // Numbers of the command are shown as people think of them, those of the observation as the policy gets them.
  const shown = (number, i) => (i < count ? amount(agent.objectives[i], number) : number);
  const set = (number, i) => (i < count ? fromAmount(agent.objectives[i], number) : number);
  const inputs = names.map((name, i) =>
    el("input", { type: "number", step: "any", id: `observation-${i}`, value: shown(episode.command[i], i), required: true }),
  );
  const fields = inputs.map((input, i) => el("p", { class: "field" }, el("label", { for: input.id }, names[i]), input));
  const title = count ? "The command and the state" : "The state";
  function submit(event) {
    event.preventDefault();
    controller.startEpisode(
      inputs.map(({ value }, i) => set(Number(value), i)),
      { play: false },
    );
  }
  return el(
    "form",
    { class: "card observation", "aria-label": title, on: { submit } },
    el("h2", {}, title),
    el("p", { class: "small" }, `Set the numbers of the ${whatChanges(agent)}. The page then shows which action the policy chooses.`),
    count > 0 && el("h3", {}, "The command"),
    count > 0 && el("div", { class: "observation-numbers" }, fields.slice(0, count)),
    count > 0 && el("h3", {}, "The state"),
    el("div", { class: "observation-numbers" }, fields.slice(count)),
    el("button", { type: "submit", class: "primary" }, "What does it do here?"),
  );
}
