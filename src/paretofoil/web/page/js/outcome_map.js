/** The map of outcomes: how the episode ends under every command that is issued at the start. */

import { rollOut, work } from "./api.js";
import { themed } from "./colours.js";
import { button, el, errorBox, refill } from "./dom.js";
import { createFrame, drawAxes, fit } from "./frame.js";
import { commandText, percent, plainNumbers } from "./text.js";

const UNDECIDED = 255;
/** Time limit of the proofs, in seconds. */
const SECONDS = 8;
/** Milliseconds after which a command that the map does not settle is rolled out. */
const DELAY = 250;
/** Outcomes in the legend. */
const LISTED = 6;

/** Return a colour for an outcome: neighbours in the list are far apart on the circle of colours. */
function colourOf(number, { on_front: onFront }) {
  return `hsl(${(number * 137.5 + 200) % 360} ${onFront ? 70 : 25}% ${onFront ? 62 : 72}%)`;
}

/** @param {import("./state.js").Store} store */
export function createOutcomeMap(scope, store, controller) {
  const { agent } = store.get();
  const root = el("div", { class: "outcome-map" });
  const request = new AbortController();
  scope.onEnd(() => request.abort());
  const waiting = el("progress", { max: 1, "aria-label": "Progress of the map" });
  refill(root, el("p", { class: "small" }, "Computing how the episode ends under every command …"), waiting);
  const onProgress = (share) => share && waiting.setAttribute("value", share);
  work("atlases", { agent: agent.name, seconds: SECONDS }, { signal: request.signal, onProgress }).then(
    (atlas) => refill(root, drawn(scope, store, controller, atlas)),
    (error) => error.name !== "AbortError" && refill(root, errorBox(error)),
  );
  return root;
}

function drawn(scope, store, controller, atlas) {
  const { agent, command } = store.get();
  const numbers = Uint8Array.from(atob(atlas.winners), (character) => character.charCodeAt(0));
  const painting = paint(atlas, numbers);
  /** @type {{low: number[], high: number[], axes: [number, number]}} */
  const view = { low: atlas.low, high: atlas.high, axes: [0, 1] };
  let timer = 0;
  let chosen = command.map((x, i) => Math.max(view.low[i], Math.min(view.high[i], x)));
  const canvas = el("canvas", { class: "space outcomes", tabindex: 0, role: "application" });
  const text = el("p", { class: "probe-text" });
  const go = button("Ask for this", () => controller.startEpisode(chosen), { class: "primary" });

  function draw() {
    const { width, height } = fit(canvas);
    const pen = canvas.getContext("2d");
    const frame = createFrame(width, height, view, view.axes);
    const { box } = frame;
    pen.clearRect(0, 0, width, height);
    drawAxes(pen, frame, agent.objectives, view);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(painting, box.x, box.y, box.width, box.height);
    const { x, y } = frame.place(chosen);
    pen.beginPath();
    pen.arc(x, y, 8, 0, 2 * Math.PI);
    pen.lineWidth = 3;
    pen.strokeStyle = themed("--ink");
    pen.stroke();
    const words = plainNumbers(commandText(agent.objectives, chosen));
    const say = (end) => {
      text.textContent = `Asked for ${words} at the start, it ${end}`;
      canvas.setAttribute("aria-label", `Map of outcomes. ${text.textContent} Arrow keys move the command.`);
    };
    const end = endOf(atlas, numbers, chosen);
    say(end ?? "ends with …");
    clearTimeout(timer);
    if (end === null) timer = setTimeout(() => tryOut(chosen, say), DELAY);
  }

  /** Say how a command ends that the map does not settle. The environment is deterministic: one rollout is enough. */
  async function tryOut(asked, say) {
    const episode = await rollOut(agent.name, asked, 0).catch(() => null);
    if (episode && asked === chosen)
      say(`${episode.terminated === false ? "reaches the step limit" : "ends"} with ${episode.achieved_text}.`);
  }

  function moveTo(x, y) {
    const { width, height } = canvas.getBoundingClientRect();
    chosen = createFrame(width, height, view, view.axes).values(x, y);
    draw();
  }

  function point(event) {
    const { left, top } = canvas.getBoundingClientRect();
    moveTo(event.clientX - left, event.clientY - top);
  }

  function press(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step) return;
    event.preventDefault();
    const move = (x, i) => x + (step[i] * (view.high[i] - view.low[i])) / 60;
    chosen = chosen.map((x, i) => Math.max(view.low[i], Math.min(view.high[i], move(x, i))));
    draw();
  }

  canvas.addEventListener("pointerdown", (event) => (canvas.setPointerCapture(event.pointerId), point(event)));
  canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && point(event));
  canvas.addEventListener("keydown", press);
  const watcher = new ResizeObserver(draw);
  watcher.observe(canvas);
  scope.onEnd(() => (watcher.disconnect(), clearTimeout(timer)));
  scope.draw(["dark"], draw);
  return [text, canvas, el("div", { class: "buttons" }, go), legend(atlas)];
}

/** Return how the episode of a command ends; null if that is not proven, or if the pixels around it disagree. */
function endOf({ low, high, pixels, outcomes }, numbers, command) {
  const share = (i) => (command[i] - low[i]) / (high[i] - low[i]);
  const pixel = (value) => Math.round(Math.max(0, Math.min(1, value)) * (pixels - 1));
  const [column, row] = [pixel(share(0)), pixel(1 - share(1))];
  const number = numbers[row * pixels + column];
  if (number === UNDECIDED) return null;
  const near = (x) => [x - 1, x, x + 1].filter((y) => y >= 0 && y < pixels);
  const agree = near(row).every((y) => near(column).every((x) => numbers[y * pixels + x] === number));
  if (!agree) return null;
  return `${outcomes[number].finished ? "ends" : "reaches the step limit"} with ${outcomes[number].text}.`;
}

function paint({ outcomes, pixels }, numbers) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = pixels;
  const pen = canvas.getContext("2d");
  numbers.forEach((number, i) => {
    pen.fillStyle = number === UNDECIDED ? "#8a8f98" : colourOf(number, outcomes[number]);
    pen.fillRect(i % pixels, Math.floor(i / pixels), 1, 1);
  });
  return canvas;
}

function legend({ outcomes, undecided }) {
  const item = (colour, text) => el("li", {}, el("span", { class: "patch", vars: { "--colour": colour } }), text);
  return el(
    "ul",
    { class: "legend" },
    outcomes
      .slice(0, LISTED)
      .map((outcome, i) => item(colourOf(i, outcome), `${outcome.text}: ${percent(outcome.share)} of the commands`)),
    outcomes.length > LISTED && el("li", {}, `and ${outcomes.length - LISTED} more`),
    undecided > 0 && item("#8a8f98", `not proven: ${percent(undecided)}`),
    el("li", {}, "All shares are proven. Pale colours: one of the agent's goals is better."),
  );
}
