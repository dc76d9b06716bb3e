/** An episode in a user study, up to the step of the task: what happens then is not shown. */

import { announce, button, prefersReducedMotion, el } from "./dom.js";
import { sign } from "./text.js";

const PACE = 700;

/**
 * @param {{watched: WatchedEpisode, agent: Agent, episode: Episode}} loaded
 * @param {string} name of the agent in this study
 * @param {import("./state.js").Scope} scope
 */
export function createEpisodeView({ watched, agent, episode }, name, scope) {
  const frames = framesOf(agent, episode, watched.until);
  const last = frames.length - 1;
  const picture = el("img", { class: "scene" });
  const caption = el("p", { class: "caption" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    "aria-label": `Step, ${name}`,
    on: { input: () => stopAt(Number(slider.value)) },
  });
  const play = button("Play from the start", () => run(), { class: "play" });
  let at = 0,
    timer = 0;

  function show(index) {
    at = Math.max(0, Math.min(last, index));
    const frame = frames[at];
    picture.src = frame.picture;
    picture.alt = `${name}, ${frame.caption}`;
    caption.textContent = frame.caption;
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", frame.caption);
  }

  function stopAt(index) {
    clearInterval(timer);
    show(index);
  }

  function run() {
    stopAt(0);
    timer = setInterval(() => {
      show(at + 1);
      if (at === last) (stopAt(last), announce(frames[last].caption));
    }, PACE);
  }

  scope.onEnd(() => clearInterval(timer));
  show(watched.until === null && !prefersReducedMotion() ? 0 : last);
  return el(
    "figure",
    { class: "watched", "aria-label": `The episode of ${name}` },
    el("div", { class: "frame" }, picture),
    caption,
    last > 0 &&
      el(
        "div",
        { class: "controls" },
        play,
        button("◀", () => stopAt(at - 1), { class: "round", "aria-label": `One step back, ${name}` }),
        slider,
        button("▶", () => stopAt(at + 1), { class: "round", "aria-label": `One step forward, ${name}` }),
      ),
  );
}

function framesOf(agent, episode, until) {
  const decisions = until === null ? episode.decisions : episode.decisions.slice(0, until);
  const frames = decisions.map((decision) => ({
    picture: decision.picture,
    caption: `Step ${decision.step + 1}: it chooses ${nameOf(agent, decision.action)}`,
  }));
  if (until === null)
    return [...frames, { picture: episode.end_picture, caption: `The episode ends with ${episode.achieved_text}` }];
  const now = episode.decisions[until];
  return [
    ...frames,
    { picture: now.picture, caption: `Now, before step ${until + 1}: still to get ${now.command_text}` },
  ];
}

function nameOf(agent, action) {
  const name = agent.actions[action];
  return `${name} ${sign(name)}`.trim();
}
