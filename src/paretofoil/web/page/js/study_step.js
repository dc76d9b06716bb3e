/** One step of a study: what is watched, what explains it, what is asked, and how sure one is. */

import { sendReply } from "./api.js";
import { announce, button, el, kindly, refill } from "./dom.js";
import { createScope, createStore } from "./state.js";
import { createRating } from "./study_choice.js";
import { gather } from "./study_gather.js";
import { startClock } from "./study_memory.js";
import { createChoose, createPredict, createSteer } from "./study_tasks.js";

const TASKS = { predict: createPredict, choose: createChoose, steer: createSteer };

/**
 * Everything is loaded before anything is shown, so that nobody waits while the clock runs.
 * @param {function(...Node): void} show
 * @param {string} key the participant's
 * @param {function(Object): void} onDone with the participant as the server knows them then
 */
export async function showStep(show, key, participant, onDone) {
  const step = participant.steps[participant.next];
  show(el("p", { class: "loading" }, "Loading the next step …"));
  const gathered = await gather(step, participant.shows);
  const scope = createScope(createStore());
  const task = TASKS[step.kind]?.(step, gathered, participant.shows, scope);
  const ratings = step.ratings.map(createRating);
  const asked = [...(task ? [task] : []), ...ratings];
  const problem = el("div", { class: "problem" });
  const next = button("Next", submit, { class: "primary next" });
  show(
    el("h1", { class: "step-title" }, step.text || "To end with"),
    task?.node,
    ratings.length > 0 &&
      el(
        "section",
        { class: "card ratings", "aria-label": "Your view" },
        ratings.map((rating) => rating.node),
      ),
    problem,
    el("p", { class: "deeds end-deeds" }, next),
  );
  const clock = startClock(step.step);

  async function submit() {
    const missing = asked.find((one) => one.value() === null);
    if (missing) return ask(missing);
    next.disabled = true;
    const reply = { step: step.step, reply: task ? task.value() : null, ratings: valuesOf(ratings), ...clock.times() };
    try {
      const later = await sendReply(key, reply);
      clock.stop();
      scope.end();
      onDone(later);
    } catch (error) {
      next.disabled = false;
      refill(problem, kindly(error, submit));
    }
  }

  function ask(missing) {
    refill(problem, el("p", { class: "kindly", role: "alert" }, missing.wanted));
    announce(missing.wanted);
    missing.focus();
  }
}

function valuesOf(ratings) {
  return Object.fromEntries(ratings.map((rating) => [rating.name, rating.value()]));
}
