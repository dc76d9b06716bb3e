/** A user study: consent, an introduction, one step after another, thanks. A reload goes on where one was. */

import { readParticipant, readStudy, takePart } from "./api.js";
import { announce, button, calm, el, kindly, refill } from "./dom.js";
import { keptKey, newKey } from "./study_memory.js";
import { showStep } from "./study_step.js";
import { startTheme } from "./theme.js";

const root = document.getElementById("view");

/** Show a screen from its top, and put those who listen at its start. */
function show(...parts) {
  refill(root, ...parts);
  window.scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

/** Do what may fail; what went wrong is told, and can be tried again. */
async function attempt(run) {
  try {
    await run();
  } catch (error) {
    show(kindly(error, () => attempt(run)));
  }
}

function paragraphs(lines) {
  return lines.map((line) => el("p", {}, line));
}

function screen(heading, lines, deed) {
  show(el("section", { class: "card page-of-text" }, el("h1", {}, heading), paragraphs(lines), deed));
}

function showConsent(about) {
  const join = () =>
    attempt(async () => {
      const key = keptKey() ?? newKey();
      introduce(about, key, await takePart(key));
    });
  screen(about.title, about.consent, button("I agree and take part", join, { class: "primary" }));
}

function introduce(about, key, participant) {
  if (participant.next || !about.introduction.length) return go(about, key, participant);
  screen(
    "Before you begin",
    about.introduction,
    button("Begin", () => go(about, key, participant), { class: "primary" }),
  );
}

function go(about, key, participant) {
  const { steps, next } = participant;
  drawProgress(next, steps.length);
  if (next >= steps.length) {
    announce(about.thanks.join(" "));
    return screen("Thank you", about.thanks, null);
  }
  return attempt(() => showStep(show, key, participant, (later) => go(about, key, later)));
}

function drawProgress(next, count) {
  const words = next < count ? `Step ${next + 1} of ${count}` : "Done";
  refill(
    document.getElementById("study-progress"),
    el("span", {}, words),
    el("progress", { max: count, value: next, "aria-label": words }),
  );
}

/** Where somebody was who has begun; null for a newcomer, also if this server knows nothing of them. */
async function known(key) {
  try {
    return key && (await readParticipant(key));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

async function begin() {
  const about = await readStudy();
  document.title = about.title;
  document.getElementById("study-title").textContent = about.title;
  const participant = await known(keptKey());
  if (participant) introduce(about, keptKey(), participant);
  else showConsent(about);
}

/** The map of regions tells here how long it took. */
window.paretofoil = { lastRedraw: null };

startTheme(() => {});
if (calm()) document.documentElement.classList.add("calm");
attempt(begin);
