/** One screen of a user study: the episode, its explanations, the question and the ratings. */

import { sendReply } from "./api.js";
import { announce, button, el, errorBox, refill } from "./dom.js";
import { createScope, createStore } from "./state.js";
import { createRating } from "./study_choice.js";
import { loadScreen } from "./study_load.js";
import { startClock } from "./study_session.js";
import { createCheck, createChoose, createPredict, createSteer } from "./study_tasks.js";

const TASKS = { predict: createPredict, choose: createChoose, steer: createSteer, check: createCheck };

/**
 * Load everything, then show the screen: nobody waits while the clock runs.
 * @param {function(...Node): void} show
 * @param {string} key of the participant
 * @param {function(Object): void} onDone called with the server's response
 */
export async function showScreen(show, key, participant, onDone) {
  const screen = participant.screens[participant.next];
  show(el("h1", { class: "loading" }, "Loading …"));
  const loaded = await loadScreen(screen, participant.shows);
  const scope = createScope(createStore());
  const task = TASKS[screen.kind]?.(screen, loaded, participant.shows, scope);
  const ratings = screen.ratings.map(createRating);
  const inputs = [...(task ? [task] : []), ...ratings];
  const problem = el("div", { class: "problem" });
  const next = button("Next", submit, { class: "primary next" });
  show(
    el("h1", { class: "step-title" }, screen.text || "Finally"),
    task?.node,
    ratings.length > 0 &&
      el(
        "section",
        { class: "card ratings", "aria-label": "Your ratings" },
        ratings.map((rating) => rating.node),
      ),
    problem,
    el("p", { class: "buttons end-buttons" }, next),
  );
  const clock = startClock(screen.name);

  async function submit() {
    const missing = inputs.find((one) => one.value() === null);
    if (missing) return askFor(missing);
    next.disabled = true;
    const reply = {
      screen: screen.name,
      reply: task ? task.value() : null,
      ratings: valuesOf(ratings),
      ...clock.times(),
    };
    try {
      const response = await sendReply(key, reply);
      clock.stop();
      scope.end();
      onDone(response);
    } catch (error) {
      next.disabled = false;
      refill(problem, errorBox(error, submit));
    }
  }

  function askFor(input) {
    refill(problem, el("p", { class: "error-box", role: "alert" }, input.missing));
    announce(input.missing);
    input.focus();
  }
}

function valuesOf(ratings) {
  return Object.fromEntries(ratings.map((rating) => [rating.name, rating.value()]));
}
