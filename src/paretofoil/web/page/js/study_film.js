/** An episode as a study shows it: up to the moment that is asked about, and nothing of what comes then. */

import { announce, button, calm, el } from "./dom.js";
import { sign } from "./words.js";

const PACE = 700;

/**
 * @param {{film: Object, agent: Object, episode: Object}} gathered
 * @param {string} name what the agent is called here
 */
export function createFilm({ film, agent, episode }, name, scope) {
  const frames = framesOf(agent, episode, film.until);
  const last = frames.length - 1;
  const picture = el("img", { class: "scene" });
  const caption = el("p", { class: "caption" });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    "aria-label": `Moment, ${name}`,
    on: { input: () => halt(Number(slider.value)) },
  });
  const play = button("Watch from the start", () => run(), { class: "play" });
  let at = 0,
    timer = 0;

  function show(time) {
    at = Math.max(0, Math.min(last, time));
    const frame = frames[at];
    picture.src = frame.picture;
    picture.alt = `${name}, ${frame.told}`;
    caption.textContent = frame.told;
    slider.value = at;
    slider.setAttribute("aria-valuetext", frame.told);
  }

  function halt(time) {
    clearInterval(timer);
    show(time);
  }

  function run() {
    halt(0);
    timer = setInterval(() => {
      show(at + 1);
      if (at === last) (halt(last), announce(frames[last].told));
    }, PACE);
  }

  scope.onEnd(() => clearInterval(timer));
  show(film.until === null && !calm() ? 0 : last);
  return el(
    "figure",
    { class: "film", "aria-label": `What ${name} did` },
    el("div", { class: "frame" }, picture),
    caption,
    last > 0 &&
      el(
        "div",
        { class: "controls" },
        play,
        button("◀", () => halt(at - 1), { class: "round", "aria-label": `One step back, ${name}` }),
        slider,
        button("▶", () => halt(at + 1), { class: "round", "aria-label": `One step forward, ${name}` }),
      ),
  );
}

function framesOf(agent, episode, until) {
  const done = until === null ? episode.decisions : episode.decisions.slice(0, until);
  const frames = done.map((decision) => ({
    picture: decision.picture,
    told: `Step ${decision.step + 1}: it takes ${nameOf(agent, decision.action)}`,
  }));
  if (until === null)
    return [...frames, { picture: episode.end_picture, told: `The end: it gets ${episode.achieved_text}` }];
  const now = episode.decisions[until];
  return [
    ...frames,
    { picture: now.picture, told: `Now, before step ${until + 1}: ${now.command_text} left of the wish` },
  ];
}

function nameOf(agent, action) {
  const name = agent.actions[action];
  return `${name} ${sign(name)}`.trim();
}
