/** The rollout of a new command beside the original episode ("Show me"). */

import { announce, bringIntoView, button, prefersReducedMotion, el, errorBox } from "./dom.js";
import { commandText } from "./text.js";

const PACE = 600;
const TITLES = { answer: "New command", attainable: "Attainable command" };

export function createShowMe(scope) {
  const root = el("section", { class: "card show-me", "aria-label": "Show me", hidden: true });
  let timer = 0;
  scope.onEnd(() => clearInterval(timer));
  scope.draw(["rollout"], (state) => {
    clearInterval(timer);
    const { rollout } = state;
    root.hidden = !rollout;
    if (!rollout) return;
    if (rollout.status === "waiting")
      return root.replaceChildren(el("p", { class: "loading" }, "Computing the rollout …"));
    if (rollout.status === "failed") return root.replaceChildren(errorBox(rollout.error));
    const duet = createDuet(state);
    root.replaceChildren(duet.node);
    duet.loaded.then(() => bringIntoView(root));
    const run = () => {
      clearInterval(timer);
      duet.show(0);
      timer = setInterval(() => duet.next() || clearInterval(timer), PACE);
    };
    duet.onAgain(run);
    if (prefersReducedMotion()) duet.show(duet.length);
    else run();
  });
  return root;
}

function createDuet(state) {
  const { agent, episode, step, rollout } = state;
  const original = [...episode.decisions.slice(step).map(frameOf), lastFrame(episode)];
  const changed = [...rollout.rest.decisions.map(frameOf), lastFrame(rollout.rest)];
  const columns = [
    strip("Original command", agent, original, `${episode.decisions[step].command_text} from here on.`),
    strip(
      TITLES[rollout.kind],
      agent,
      changed,
      `${commandText(agent.objectives, rollout.issued, 10)} from here on.`,
      rollout.kind,
    ),
  ];
  const length = Math.max(original.length, changed.length) - 1;
  const slider = el("input", {
    type: "range",
    min: 0,
    max: length,
    step: 1,
    value: 0,
    "aria-label": "Steps since the new command",
    on: { input: () => show(Number(slider.value)) },
  });
  const again = button("Play again", () => {}, { class: "again" });
  let at = 0;

  function show(count) {
    at = Math.min(count, length);
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `${at} steps later`);
    for (const column of columns) column.show(at);
    if (at === length) announce(columns.map((column) => column.ending).join(" "));
  }

  const node = el(
    "div",
    {},
    el("h2", {}, "What happens with the new command"),
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
    loaded: Promise.allSettled(columns.map((column) => column.loaded)),
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
  return episode.terminated === false ? `It reaches the step limit with ${got}.` : `It ends with ${got}.`;
}

function strip(heading, agent, frames, about, kind = "original") {
  const picture = el("img", { class: "scene" });
  const caption = el("p", { class: "caption" });
  const ending = frames.at(-1).ending;
  return {
    ending: `${heading}: ${ending}`,
    loaded: Object.assign(new Image(), { src: frames[0].picture }).decode(), // a picture has no height before
    node: el(
      "figure",
      { class: `strip leads-${kind}` },
      el("figcaption", {}, el("strong", {}, heading), el("span", {}, about)),
      picture,
      caption,
    ),
    show(count) {
      const frame = frames[Math.min(count, frames.length - 1)];
      picture.src = frame.picture;
      picture.alt = `${heading}, ${Math.min(count, frames.length - 1)} steps later`;
      caption.textContent = frame.action === null ? ending : `Next: ${agent.actions[frame.action]}`;
      caption.classList.toggle("end", frame.action === null);
    },
  };
}
