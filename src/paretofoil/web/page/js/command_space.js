/** The map of the command space: drag the command and see what the agent would do. No requests are needed. */

import { colourOf, parts, themed } from "./colours.js";
import { contour, levelsOf, marginsOf, placesOf } from "./contour.js";
import { draftMap } from "./draft_map.js";
import { createSpaceControls } from "./space_controls.js";
import { el } from "./dom.js";
import { createFrame, drawAxes, fit } from "./frame.js";
import {
  drawAnswer,
  drawContour,
  drawFront,
  drawMark,
  drawNames,
  drawOriginal,
  drawPath,
  drawProbe,
  drawRange,
} from "./marks.js";
import { axesOf, regionOf, zoomOf, zoomed } from "./search_region.js";
import { PAINTED, computeAmountMap, computeMap, fetchMap, isOutside, paint } from "./action_map.js";
import { decisionOf } from "./state.js";
import { signed } from "./text.js";

const KAPPA = 0.05;
/** Milliseconds without a change after which the whole map is computed. */
const REST = 150;
/** Share of a range within which a point counts as being in this slice. */
const NEAR = 0.02;
/** Opacity of marks in other slices. */
const FAINT = 0.4;

/**
 * @param {import("./state.js").Store} store
 * @param {function(): void} onRelease called when the command is let go
 */
export function createCommandSpace(scope, store, controller, onRelease = () => {}) {
  const hasMap = store.get().agent.objectives.length > 1; // one number has a slider only
  const canvas = el("canvas", { class: "space", tabindex: 0, role: "application", hidden: !hasMap });
  const controls = createSpaceControls(store, controller, canvas, onRelease);
  const painting = document.createElement("canvas");
  painting.width = painting.height = PAINTED;
  let slice = "",
    map = null,
    places = [],
    request = 0,
    resting = 0;

  /** Draw everything. The map itself is computed only when the slice changes. */
  function draw(state) {
    const begun = performance.now();
    const region = regionOf(state.agent, decisionOf(state));
    const probe = state.probe || decisionOf(state).command;
    if (hasMap) {
      const view = viewOf(state);
      const fresh = remap(state, view, probe);
      drawAll(state, view, probe);
      if (fresh) window.paretofoil.lastRedraw = performance.now() - begun;
    }
    controls.show(state, region, probe, places);
  }

  function remap(state, view, probe) {
    const decision = decisionOf(state);
    const others = probe.filter((_, i) => !view.axes.includes(i));
    const key = JSON.stringify([
      state.agent.name,
      state.episode.command,
      state.step,
      view,
      others,
      Boolean(state.folded),
      state.dark,
      dimensionOf(state),
    ]);
    if (key === slice) return false;
    slice = key;
    if (state.folded && state.agent.amounts) {
      return keep(computeAmountMap(state.folded, state.agent, dimensionOf(state), probe, view.axes, view), view);
    }
    if (state.folded) {
      rest(() => keep(computeMap(state.folded, decision.valid_actions, probe, view.axes, view), view));
      return keep(draftMap(state.folded, decision.valid_actions, probe, view.axes, view), view);
    }
    map = null;
    places = [];
    if (!state.agent.white_box) requestMap(state, view, probe);
    return false;
  }

  /** Replace the draft by the whole map once the command no longer moves. */
  function rest(compute) {
    clearTimeout(resting);
    window.paretofoil.lastWhole = null;
    resting = setTimeout(() => {
      const begun = performance.now();
      compute();
      draw(store.get());
      window.paretofoil.lastWhole = performance.now() - begun;
    }, REST);
  }

  async function requestMap(state, view, probe) {
    const mine = ++request;
    const fetched = await fetchMap(
      state.agent,
      decisionOf(state),
      probe,
      view.axes,
      view,
      dimensionOf(state),
    ).catch(() => null);
    if (mine !== request || !fetched) return;
    keep(fetched, view);
    draw(store.get());
  }

  function keep(newMap, view) {
    map = newMap;
    const colours = Array.from({ length: map.actions }, (_, action) => parts(colourOf(action)));
    painting.getContext("2d").putImageData(paint(map, colours, parts(themed("--paper"))), 0, 0);
    places = map.field ? [] : placesOf(map, (node) => isOutside(node, view.axes, view));
    return true;
  }

  function drawAll(state, view, probe) {
    const { width, height } = fit(canvas);
    const pen = canvas.getContext("2d");
    const frame = createFrame(width, height, view, view.axes);
    pen.clearRect(0, 0, width, height);
    drawAxes(pen, frame, state.agent.objectives, view);
    pen.save();
    pen.beginPath();
    pen.rect(frame.box.x, frame.box.y, frame.box.width, frame.box.height);
    pen.clip();
    if (view.simplex && probe.length > 2) clipToPreferences(pen, frame, view);
    drawInside(pen, frame, state, view, probe);
    pen.restore();
    drawOriginal(pen, frame, decisionOf(state).command);
    drawProbe(pen, frame, probe);
  }

  function drawInside(pen, frame, state, view, probe) {
    const { box } = frame;
    const decision = decisionOf(state);
    if (map) pen.drawImage(painting, box.x, box.y, box.width, box.height);
    if (map?.field) drawAmounts(pen, frame, state);
    else if (map && typeof state.foil === "number")
      drawContour(pen, frame, contour(marginsOf(map, state.foil), state.settings.options.kappa ?? KAPPA));
    if (map) drawNames(pen, frame, places, state.agent.actions.map(signed));
    const remaining = state.agent.front.map((point) =>
      point.map((x, i) => x - (view.simplex ? 0 : decision.collected[i])),
    );
    drawFront(
      pen,
      frame,
      remaining,
      remaining.map((point) => !near(view, point, probe)),
    );
    drawPath(
      pen,
      frame,
      state.episode.decisions.map(({ command }) => command),
      state.step,
    );
    const { answer } = state.answer.result || {};
    if (answer?.proven_range) drawRange(pen, frame, answer.proven_range, crosses(view, answer.proven_range, probe));
    if (answer?.quoted) drawAnswer(pen, frame, answer.question.command, answer.quoted.command);
    for (const [search, command] of answersOf(state)) {
      pen.globalAlpha = near(view, command, probe) ? 1 : FAINT;
      drawMark(pen, ...Object.values(frame.place(command)), search);
    }
    pen.globalAlpha = 1;
  }

  /** Draw lines of equal amounts, and the limits of the foil. */
  function drawAmounts(pen, frame, state) {
    const levels = levelsOf(map);
    for (const { segments } of levels) drawContour(pen, frame, segments, 0.8);
    const { unit } = state.agent.amounts[dimensionOf(state)];
    drawNames(
      pen,
      frame,
      levels.map((level, action) => ({ ...level, action, room: Infinity })),
      levels.map(({ level }) => `${level} ${unit}`.trim()),
    );
    for (const limit of state.answer.result?.answer.question.amounts || [])
      if (limit.dimension === dimensionOf(state)) drawContour(pen, frame, contour(map.field, limit.amount), 2.4);
  }

  function moveCommand(event) {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const state = store.get();
    const frame = createFrame(width, height, viewOf(state), viewOf(state).axes);
    controls.moveTo(frame.values(event.clientX - left, event.clientY - top));
  }

  canvas.addEventListener("pointerdown", (event) => (canvas.setPointerCapture(event.pointerId), moveCommand(event)));
  canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && moveCommand(event));
  canvas.addEventListener("pointerup", onRelease);
  canvas.addEventListener("keydown", (event) => controls.nudge(event));
  canvas.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && store.get().probe && onRelease());
  const watcher = new ResizeObserver(() => draw(store.get()));
  watcher.observe(canvas);
  scope.onEnd(() => (watcher.disconnect(), clearTimeout(resting)));
  scope.draw(
    ["step", "episode", "foil", "answer", "bySearch", "axes", "zoom", "probe", "folded", "settings", "dark"],
    draw,
  );
  controller.fold().catch(() => {});
  return el("div", { class: "space-panel" }, controls.sliders, canvas, controls.bars, controls.tools);
}

/** Return the dimension of continuous actions that the map shows: that of the question, or the first. */
function dimensionOf({ foil, answer }) {
  return answer.result?.answer.question.amounts?.[0]?.dimension ?? (typeof foil === "number" ? foil >> 1 : 0);
}

/** Clip to the triangle in which two weights sum to at most 1. */
function clipToPreferences(pen, frame, view) {
  const corner = (x, y) => frame.place(view.low.map((_, i) => (i === view.axes[0] ? x : i === view.axes[1] ? y : 0)));
  pen.beginPath();
  for (const { x, y } of [corner(0, 0), corner(1, 0), corner(0, 1)]) pen.lineTo(x, y);
  pen.clip();
}

/** Return the part of the search region that is drawn, and its two axes. */
function viewOf(state) {
  const decision = decisionOf(state);
  return { ...zoomed(regionOf(state.agent, decision), decision.command, zoomOf(state)), axes: axesOf(state) };
}

/** Return the commands of all answers at this step, each with its search. */
function answersOf({ answer: { result }, bySearch }) {
  const all = [result, ...Object.values(bySearch)].map((one) => one?.answer).filter((answer) => answer?.quoted);
  const attainable = result?.answer.rollouts?.attainable?.command;
  return [
    ...(attainable ? [["attainable", attainable]] : []),
    ...all.map(({ search, quoted }) => [search.name, quoted.command]),
  ];
}

/** Return whether a point lies in the slice that is drawn. */
function near(view, point, probe) {
  return point.every(
    (x, i) => view.axes.includes(i) || Math.abs(x - probe[i]) <= NEAR * (view.high[i] - view.low[i] || 1),
  );
}

function crosses(view, range, probe) {
  return probe.every((x, i) => view.axes.includes(i) || (x >= range.low[i] - 1e-9 && x <= range.high[i] + 1e-9));
}
