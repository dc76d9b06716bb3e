/** "Show me": what follows under the new wish, beside what follows under the old one. */

import { announce, button, calm, el, kindly } from "./dom.js";
import { wishes } from "./words.js";

const PACE = 600;
const TITLES = { answer: "With the new wish", attainable: "With the wish that delivers" };

/** @param {import("./state.js").Store} store */
export function createShowMe(scope, store) {
  const root = el("section", { class: "card show-me", "aria-label": "Show me", hidden: true });
  let timer = 0;
  scope.onEnd(() => clearInterval(timer));
  scope.draw(["shown"], (state) => {
    clearInterval(timer);
    const { shown } = state;
    root.hidden = !shown;
    if (!shown) return;
    if (shown.status === "waiting") return root.replaceChildren(el("p", { class: "loading" }, "Rolling on …"));
    if (shown.status === "failed") return root.replaceChildren(kindly(shown.error));
    const duet = createDuet(state);
    root.replaceChildren(duet.node);
    root.scrollIntoView({ block: "nearest", behavior: calm() ? "auto" : "smooth" });
    const run = () => {
      clearInterval(timer);
      duet.show(0);
      timer = setInterval(() => duet.next() || clearInterval(timer), PACE);
    };
    duet.onAgain(run);
    if (calm()) duet.show(duet.length);
    else run();
  });
  return root;
}

function createDuet(state) {
  const { agent, episode, time, shown } = state;
  const original = [...episode.decisions.slice(time).map(frameOf), lastFrame(episode)];
  const changed = [...shown.tail.decisions.map(frameOf), lastFrame(shown.tail)];
  const columns = [
    strip("As it went", agent, original, `Your wish: ${episode.decisions[time].command_text} from here on.`),
    strip(TITLES[shown.kind], agent, changed, `Asked now: ${wishes(agent.objectives, shown.issued, 10)}.`, shown.kind),
  ];
  const length = Math.max(original.length, changed.length) - 1;
  const slider = el("input", {
    type: "range",
    min: 0,
    max: length,
    step: 1,
    value: 0,
    "aria-label": "Step since then",
    on: { input: () => show(Number(slider.value)) },
  });
  const again = button("Play again", () => {}, { class: "again" });
  let at = 0;

  function show(step) {
    at = Math.min(step, length);
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${at} steps later`);
    for (const column of columns) column.show(at);
    if (at === length) announce(columns.map((column) => column.ending).join(" "));
  }

  const node = el(
    "div",
    {},
    el("h2", {}, "What would have happened"),
    el(
      "div",
      { class: "duet" },
      columns.map((column) => column.node),
    ),
    el("div", { class: "controls" }, again, slider),
  );
  return {
    node,
    length,
    show,
    next: () => (show(at + 1), at < length),
    onAgain: (run) => again.addEventListener("click", run),
  };
}

const frameOf = (decision) => ({ picture: decision.picture, action: decision.action });

function lastFrame(episode) {
  return { picture: episode.end_picture, action: null, ending: endingOf(episode) };
}

function endingOf(episode) {
  const got = episode.achieved_text;
  return episode.terminated === false ? `It never ends by itself; so far: ${got}.` : `In the end: ${got}.`;
}

function strip(heading, agent, frames, about, kind = "original") {
  const picture = el("img", { class: "scene" });
  const caption = el("p", { class: "caption" });
  const ending = frames.at(-1).ending;
  return {
    ending: `${heading}: ${ending}`,
    node: el(
      "figure",
      { class: `strip leads-${kind}` },
      el("figcaption", {}, el("strong", {}, heading), el("span", {}, about)),
      picture,
      caption,
    ),
    show(step) {
      const frame = frames[Math.min(step, frames.length - 1)];
      picture.src = frame.picture;
      picture.alt = `${heading}, ${Math.min(step, frames.length - 1)} steps later`;
      caption.textContent = frame.action === null ? ending : `Next: ${agent.actions[frame.action]}`;
      caption.classList.toggle("end", frame.action === null);
    },
  };
}
