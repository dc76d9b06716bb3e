/** A user study: consent, introduction, one screen after another, thanks. A reload returns to the same screen. */

import { readParticipant, readStudy, takePart } from "./api.js";
import { announce, button, copy, prefersReducedMotion, el, errorBox, refill } from "./dom.js";
import { isIntroduced, newKey, setIntroduced, storeKey, storedKey } from "./study_session.js";
import { showScreen } from "./study_screen.js";
import { startTheme } from "./theme.js";

const root = document.getElementById("view");

/** Show a screen from its top, and move the focus there. */
function show(...parts) {
  refill(root, ...parts);
  window.scrollTo(0, 0);
  root.focus({ preventScroll: true });
}

/** Run something; show an error, with a button that tries again. */
async function attempt(run) {
  try {
    await run();
  } catch (error) {
    show(errorBox(error, () => attempt(run)));
  }
}

function paragraphs(lines) {
  return lines.map((line) => el("p", {}, line));
}

function textScreen(heading, lines, action) {
  show(el("section", { class: "card page-of-text" }, el("h1", {}, heading), paragraphs(lines), action));
}

function showConsent(about) {
  const join = () =>
    attempt(async () => {
      const joined = await takePart(storedKey() ?? newKey(), idsOf(about));
      introduce(about, storeKey(joined.key), joined);
    });
  textScreen(about.title, about.consent, button("I agree and take part", join, { class: "primary" }));
}

function introduce(about, key, participant) {
  if (participant.next || isIntroduced() || !about.introduction.length) return showNext(about, key, participant);
  textScreen(
    "Before you begin",
    about.introduction,
    button("Begin", () => (setIntroduced(), showNext(about, key, participant)), { class: "primary" }),
  );
}

function showNext(about, key, participant) {
  const { screens, next } = participant;
  drawProgress(next, screens.length);
  if (next >= screens.length) {
    announce(about.thanks.join(" "));
    return textScreen("Thank you", about.thanks, completionPart(participant));
  }
  return attempt(() => showScreen(show, key, participant, (later) => showNext(about, key, later)));
}

/** Return the ids that a recruitment service has put into the address. */
function idsOf({ recruitment }) {
  const fields = new URLSearchParams(window.location.search);
  const names = (recruitment?.parameters ?? []).filter((name) => fields.get(name));
  return Object.fromEntries(names.map((name) => [name, fields.get(name).slice(0, 200)]));
}

/** Return the code that the participant takes back to the recruitment service, and the way there. */
function completionPart({ completion }) {
  if (!completion) return null;
  const { code, link } = completion;
  const taken = button("Copy the code", () => copy(code, taken));
  return el(
    "div",
    { class: "completion" },
    el("p", {}, "Your completion code: ", el("strong", { class: "code" }, code)),
    el("p", { class: "buttons" }, link && el("a", { class: "primary", href: link }, "Finish"), taken),
  );
}

function drawProgress(next, count) {
  const words = next < count ? `Screen ${next + 1} of ${count}` : "Done";
  refill(
    document.getElementById("study-progress"),
    el("span", {}, words),
    el("progress", { max: count, value: next, "aria-label": words }),
  );
}

/** Return the screens of a participant; null for a new one, or for one that this server does not know. */
async function findParticipant(key) {
  try {
    return key && (await readParticipant(key));
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

async function start() {
  const about = await readStudy();
  document.title = about.title;
  document.getElementById("study-title").textContent = about.title;
  const participant = await findParticipant(storedKey());
  if (participant) introduce(about, storedKey(), participant);
  else showConsent(about);
}

/** The map writes its timing here. */
window.paretofoil = { lastRedraw: null };

startTheme(() => {});
if (prefersReducedMotion()) document.documentElement.classList.add("reduced-motion");
attempt(start);
