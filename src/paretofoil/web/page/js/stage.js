/** The stage: the film of the episode, and that of another command, on one picture with both paths. */

import { loadPicture, showPicture } from "./api.js";
import { announce, bringIntoView, button, el, errorBox, refill, svg } from "./dom.js";
import { wholeCommand } from "./controller.js";
import { influenceSteps, largestChange } from "./influence.js";
import { cellAt, outcomeWords, readClauses, writeClauses } from "./outcome.js";
import { amountsAt, probabilities } from "./policy.js";
import { isSaved } from "./saved.js";
import { decisionOf } from "./state.js";
import { commandText, isMove, badge, did, doing, plainNumbers, quantity, short, signed } from "./text.js";

/** Frames of a film, at most: of a longer episode some steps are skipped while it plays. */
const FRAMES = 120;
const SPEEDS = { 0.5: "½×", 1: "1×", 2: "2×", 4: "4×" };

/** Return the milliseconds per frame. Long episodes play faster. */
const pace = (count) => Math.max(120, Math.min(650, 9000 / count));

/** @param {import("./state.js").Store} store */
export function createStage(scope, store, controller) {
  const { agent } = store.get();
  const verdict = el("div", { class: "verdict", hidden: true });
  const picture = el("img", { class: "scene" });
  const overlay = svg("svg", { class: "trails", "aria-hidden": "true" });
  const sheet = el("div", { class: "sheet" }, picture, overlay);
  const marks = el("div", { class: "steps", "aria-hidden": "true" });
  const playButton = button("", togglePlay, { class: "primary play", title: "Space" });
  const slider = el("input", {
    type: "range",
    min: 0,
    step: 1,
    class: "step-slider",
    on: { input: () => go(Number(slider.value)) },
  });
  const speed = el(
    "select",
    { class: "speed", "aria-label": "Speed" },
    Object.entries(SPEEDS).map(([value, label]) => el("option", { value, selected: value === "1" }, label)),
  );
  let film = filmOf(store.get());
  let run = 0;

  function go(at) {
    if (store.get().playing) controller.play(false);
    moveTo(store, controller, at);
  }

  function togglePlay() {
    const { playing } = store.get();
    if (!playing && positionOf(store.get()) === film.length - 1) moveTo(store, controller, 0);
    controller.play(!playing);
  }

  /** Play on. Every frame waits for its picture. */
  async function roll() {
    const mine = ++run;
    const stride = Math.ceil(film.length / FRAMES);
    while (mine === run && store.get().playing) {
      const next = Math.min(positionOf(store.get()) + stride, film.length - 1);
      await Promise.allSettled([
        loadPicture(film[next].picture),
        new Promise((done) => setTimeout(done, pace(film.length) / Number(speed.value))),
      ]);
      if (mine !== run || !store.get().playing) return;
      moveTo(store, controller, next);
      if (next === film.length - 1) controller.play(false);
    }
  }

  scope.draw(["rollout", "episode"], (state) => {
    film = filmOf(state);
    slider.max = String(film.length - 1);
    slider.setAttribute("aria-label", state.rollout?.rest ? "Step of the other episode" : "Step of the episode");
    refill(
      marks,
      film.map((frame, i) => stepMark(agent, frame, () => go(i))),
    );
    showVerdict(verdict, state, controller);
    if (state.rollout && state.rollout.kind !== "probe") bringIntoView(verdict);
    run++;
    if (state.playing) roll();
  });
  scope.draw(["step", "arrived", "rollout", "rolloutAt"], (state) => {
    const at = positionOf(state);
    const frame = film[at];
    showPicture(picture, frame.picture);
    picture.alt = frame.alt;
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", frame.alt);
    [...marks.children].forEach((mark, i) => mark.classList.toggle("now", i === at));
    const mark = /** @type {HTMLElement} */ (marks.children[at]);
    marks.scrollLeft = mark.offsetLeft - marks.offsetLeft - marks.clientWidth / 2; // scrolls nothing else
    if (film[at + 1]) loadPicture(film[at + 1].picture).catch(() => {});
  });
  scope.draw(["step", "arrived", "rollout", "rolloutAt", "probe", "folded", "draft"], (state) => {
    refill(overlay, trails(state));
  });
  scope.draw(["draft"], ({ draft }) => sheet.classList.toggle("picking", draft !== null && agent.cells.length > 0));
  sheet.addEventListener("click", (event) => {
    const { draft } = store.get();
    if (draft === null || !agent.cells.length) return;
    const { left, top, width, height } = picture.getBoundingClientRect();
    const { cell } = cellAt(agent, (event.clientX - left) / width, (event.clientY - top) / height, width / height);
    const clauses = readClauses(agent, draft);
    const before = clauses.find(({ kind }) => kind === "visits");
    const picked = /** @type {Clause} */ ({ kind: "visits", never: before?.never ?? false, value: cell });
    store.set({ draft: writeClauses([...clauses.filter((clause) => clause !== before), picked]) });
  });
  scope.draw(["playing", "step", "arrived", "rollout", "rolloutAt"], (state) => {
    const ended = positionOf(state) === film.length - 1;
    playButton.textContent = state.playing ? "Pause" : ended ? "Play again" : "Play";
  });
  scope.draw(["playing"], (state) => {
    run++;
    if (state.playing) roll();
    else if (positionOf(state) === film.length - 1) announce(film.at(-1).alt);
  });
  scope.draw(["influence"], ({ influence, rollout }) => {
    if (rollout) return;
    for (const one of influenceSteps(influence)) {
      const mark = /** @type {HTMLElement} */ (marks.children[one.step]);
      mark.classList.add("measured");
      mark.style.setProperty("--influence", largestChange(agent, one).toFixed(3));
    }
  });
  picture.addEventListener("load", () => {
    if (!picture.isConnected) return; // the view has changed meanwhile
    const { naturalWidth: width, naturalHeight: height } = picture;
    sheet.style.setProperty("--ratio", String(width / height));
    overlay.setAttribute("viewBox", `0 0 ${width} ${height}`);
    overlay.style.setProperty("--unit", `${width / 640}px`);
    refill(overlay, trails(store.get()));
  });
  scope.onEnd(() => run++);

  /** The whole drawing of both paths, in pixels of the picture. */
  function trails(state) {
    const { naturalWidth: width, naturalHeight: height } = picture;
    if (!width || !film[0].place) return [];
    const points = (frames) =>
      frames.filter((frame) => frame.place).map(({ place: [x, y] }) => [x * width, y * height]);
    const at = positionOf(state);
    const rest = state.rollout?.rest;
    const original = framesOf(agent, state.episode);
    const passed = rest ? original : original.slice(0, at + 1);
    return [
      ...pickedCells(state).map(({ place: [x, y], never }) =>
        svg("circle", {
          class: never ? "picked never" : "picked",
          cx: x * width,
          cy: y * height,
          r: (26 * width) / 640,
        }),
      ),
      line(points(passed), "trail"),
      rest && flag(points(original).at(-1), "trail-end"),
      rest && line(points(film.slice(0, at + 1)), "trail other"),
      rest && flag(points(film).at(-1), "trail-end other"),
      !rest && !state.arrived && arrow(agent, nextAction(state), points([film[at]])[0], width / 640),
    ];
  }

  const controls = el(
    "div",
    { class: "controls" },
    button("◀", () => go(positionOf(store.get()) - 1), { "aria-label": "One step back", title: "←", class: "round" }),
    playButton,
    button("▶", () => go(positionOf(store.get()) + 1), {
      "aria-label": "One step forward",
      title: "→",
      class: "round",
    }),
    button("End", () => go(film.length - 1), { "aria-label": "Skip to the end", title: "End", class: "to-end" }),
    slider,
    speed,
  );
  return el(
    "section",
    { class: "card stage", "aria-label": "The episode" },
    verdict,
    el("div", { class: "frame" }, sheet),
    controls,
    marks,
  );
}

/** Return the cells of the outcome in the form. */
function pickedCells({ agent, draft }) {
  const picked = readClauses(agent, draft ?? "").filter(({ kind }) => kind === "visits");
  return picked.flatMap(({ value, never }) =>
    agent.cells.filter(({ cell }) => cell === value).map(({ place }) => ({ place, never })),
  );
}

/** Return what the film on the stage shows: that of another command, or the episode. */
function filmOf({ agent, episode, rollout }) {
  return framesOf(agent, rollout?.rest || episode);
}

/** @param {Episode} episode */
function framesOf(agent, episode) {
  const count = episode.decisions.at(-1).step + 1;
  const frames = episode.decisions.map((decision) => ({
    picture: decision.picture,
    place: decision.place,
    decision,
    alt: `Step ${decision.step + 1} of ${count}: it ${doing(agent, decision)}.`,
  }));
  return [
    ...frames,
    { picture: episode.end_picture, place: episode.end_place, decision: null, alt: endingText(episode) },
  ];
}

/** Return how an episode ends, and whether that is what was asked for. */
export function endingText(episode) {
  const end = episode.terminated === false ? "The episode reaches the step limit with" : "The episode ends with";
  const text = `${end} ${episode.achieved_text}`;
  if (episode.delivered === null || episode.decisions[0].step) return `${text}.`; // preferences ask for no return
  return episode.delivered ? `${text}, as you asked.` : `${text}. You asked for ${episode.command_text}.`;
}

/** Return the frame that the stage shows. */
function positionOf({ rollout, rolloutAt, episode, step, arrived }) {
  if (rollout?.rest) return Math.min(rolloutAt, rollout.rest.decisions.length);
  return arrived ? episode.decisions.length : step;
}

/** Show a frame of the film on the stage. */
export function moveTo(store, controller, at) {
  const { rollout } = store.get();
  if (!rollout?.rest) return controller.goToStep(at);
  store.set({ rolloutAt: Math.max(0, Math.min(at, rollout.rest.decisions.length)) });
}

/** Move by some frames. */
export function moveBy(store, controller, count) {
  moveTo(store, controller, positionOf(store.get()) + count);
}

/** Return the action that the arrow shows: under the command in hand, or the chosen one. For amounts, their text. */
function nextAction(state) {
  const decision = decisionOf(state);
  if (decision.amounts) {
    const amounts = state.probe && state.folded ? amountsAt(state.agent, state.folded, state.probe) : decision.amounts;
    return doing(state.agent, { amounts });
  }
  if (!state.probe || !state.folded) return decision.action;
  const shares = probabilities(state.folded, state.probe, decision.valid_actions);
  return shares.indexOf(Math.max(...shares));
}

/** Show what another command leads to, in one sentence, and what can be done next. */
function showVerdict(root, state, controller) {
  const { rollout } = state;
  root.hidden = !rollout;
  if (!rollout) return refill(root);
  if (rollout.status === "waiting") return refill(root, el("p", { class: "loading" }, "Trying the new command …"));
  if (rollout.status === "failed") return refill(root, errorBox(rollout.error));
  const text = verdictText(state);
  announce(text);
  refill(
    root,
    el("p", { class: "over" }, "With the new command"),
    el("p", { class: "verdict-text" }, text),
    verdictTable(state),
    el(
      "ul",
      { class: "legend" },
      el("li", {}, el("span", { class: "stroke" }), "the path before"),
      el("li", {}, el("span", { class: "stroke other" }), "the path with the new command"),
    ),
    el(
      "div",
      { class: "buttons" },
      !isSaved() && button("Ask for this instead", controller.askInstead, { class: "primary instead" }),
      button("Back to the episode", controller.closeRollout, { class: "back" }),
    ),
  );
}

/**
 * Return "It went down and got 5 treasure in 7 steps instead of 8 treasure in 8 steps. The new command asks for …".
 * From three objectives on, the amounts are in the table below it.
 */
export function verdictText(state) {
  const { agent, episode, rollout } = state;
  const { rest } = rollout;
  const limit = rest.terminated === false && episode.terminated !== false ? " and reached the step limit" : "";
  const first = `${metText(state)}It ${did(agent, rest.decisions[0])}${limit}`;
  if (agent.objectives.length > 2) return `${first}. ${promiseOf(agent, rest)}`.trim();
  const got = rest.achieved_text;
  const compared =
    got === episode.achieved_text ? `still got ${got}` : `got ${got} instead of ${episode.achieved_text}`;
  const whole = plainNumbers(commandText(agent.objectives, wholeCommand(agent, rollout)));
  return `${first} and ${compared}. ${promiseOf(agent, rest, whole)}`.trim();
}

/** Return that the command of an answer about an outcome leads to it. A single run says nothing if chance has a part. */
function metText({ agent, foil, rollout }) {
  if (!foil?.outcome || rollout.kind === "probe" || agent.stochastic) return "";
  return `Now it meets “${outcomeWords(agent, foil.outcome)}”. `;
}

/** Return whether the new command delivered what it asks for. A single run says nothing about probabilities. */
function promiseOf(agent, rest, whole = "") {
  if (agent.stochastic) return "This is one of many possible runs.";
  if (rest.delivered === null) return ""; // preferences ask for no return
  const result = rest.delivered ? "delivered exactly" : "did not deliver";
  return whole
    ? `The new command asks for ${whole} in all: the agent ${result} that.`
    : `The agent ${result} what the new command asks for.`;
}

/** Return a table of what the two episodes brought, and what the new command asks for. */
function verdictTable({ agent, episode, rollout }) {
  if (agent.objectives.length < 3) return null;
  const whole = wholeCommand(agent, rollout);
  const asks = agent.space.kind === "simplex" ? [] : ["asked for now"];
  return amountsTable(["before", "now", ...asks], agent.objectives.slice(0, episode.achieved.length), (i) => [
    episode.achieved[i],
    rollout.rest.achieved[i],
    ...(asks.length ? [whole[i]] : []),
  ]);
}

/** Return a table with a row for each objective. */
export function amountsTable(heads, objectives, valuesOf) {
  const head = el(
    "tr",
    {},
    el("td", {}),
    heads.map((name) => el("th", { scope: "col" }, name)),
  );
  const rows = objectives.map((objective, i) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, objective.name),
      valuesOf(i).map((value) => el("td", {}, quantity(objective, value))),
    ),
  );
  return el("table", { class: "amounts" }, el("thead", {}, head), el("tbody", {}, rows));
}

function stepMark(agent, { decision, alt }, run) {
  const shown = !decision
    ? "⚑"
    : decision.amounts
      ? short(decision.amounts[0], 2)
      : badge(agent.actions[decision.action]);
  return el("span", { class: "step", title: alt, on: { click: run } }, shown);
}

function line(points, kind) {
  if (points.length < 2) return null;
  return svg("polyline", { class: kind, points: points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ") });
}

function flag(point, kind) {
  return point && svg("circle", { class: kind, cx: point[0], cy: point[1], r: 9 });
}

const TURNS = { right: 0, down: 90, left: 180, up: 270 };

/** Return an arrow beside the agent, in the direction of its move; other actions are written. */
function arrow(agent, action, point, scale) {
  if (!point) return null;
  const [x, y] = point;
  if (typeof action === "string" || !isMove(agent, action))
    return svg(
      "text",
      { class: "next-action", x, y: y + (typeof action === "string" ? 36 : -26) * scale, "text-anchor": "middle" },
      typeof action === "string" ? action : signed(agent.actions[action]),
    );
  return svg("path", {
    class: "next-move",
    d: "M22 -5H42V-14L62 0L42 14V5H22Z",
    transform: `translate(${x} ${y}) rotate(${TURNS[agent.actions[action]]}) scale(${scale})`,
  });
}
