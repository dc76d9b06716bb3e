/** The frame of the map: from commands to pixels and back, and ticks at round numbers. */

import { themed } from "./colours.js";
import { amount, fromAmount, short } from "./text.js";

const LEFT = 58,
  RIGHT = 14,
  TOP = 14,
  BOTTOM = 50;

/**
 * @param {number} width of the canvas in CSS pixels
 * @param {{low: number[], high: number[]}} region
 * @param {[number, number]} axes
 */
export function createFrame(width, height, region, axes) {
  const box = { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: height - TOP - BOTTOM };
  const side = (i) => ({ low: region.low[i], span: region.high[i] - region.low[i] || 1 });
  const [across, up] = axes.map(side);
  return {
    box,
    /** @param {number[]} command */
    place: (command) => ({
      x: box.x + ((command[axes[0]] - across.low) / across.span) * box.width,
      y: box.y + (1 - (command[axes[1]] - up.low) / up.span) * box.height,
    }),
    /** Return the values of the two objectives under a pixel, clipped to the frame. */
    values: (x, y) => {
      const share = (from, length) => Math.max(0, Math.min(1, from / length));
      return [
        across.low + share(x - box.x, box.width) * across.span,
        up.low + (1 - share(y - box.y, box.height)) * up.span,
      ];
    },
  };
}

/** Return about five round amounts between two numbers, with their labels. */
function ticksOf(objective, low, high) {
  const ends = [amount(objective, low), amount(objective, high)].sort((a, b) => a - b);
  const rough = (ends[1] - ends[0]) / 6 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.7);
  const ticks = [];
  for (let k = Math.ceil(ends[0] / step - 1e-9); k * step <= ends[1] + 1e-9 * step; k++) {
    ticks.push({ value: fromAmount(objective, k * step), label: short(k * step) });
  }
  return ticks;
}

/** Return the name of an axis with its unit: "time (steps), a cost". */
function axisName(objective) {
  const unit = objective.probability ? "%" : objective.unit;
  return `${objective.name}${unit ? ` (${unit})` : ""}${objective.cost ? ", a cost" : ""}`;
}

/** Fit the pixels of a canvas to its size on the screen. */
export function fit(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const dots = window.devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * dots), Math.round(height * dots)];
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  canvas.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
  return { width, height };
}

/** Draw the frame with its ticks and the names of its axes. */
export function drawAxes(pen, frame, objectives, view) {
  const { box } = frame;
  const [first, second] = view.axes.map((i) => objectives[i]);
  const ends = view.axes.map((i) => [view.low[i], view.high[i]]);
  const at = (i, value) => frame.place(view.low.map((x, j) => (j === view.axes[i] ? value : x)));
  pen.fillStyle = themed("--muted");
  pen.strokeStyle = themed("--line");
  pen.font = `12px ${themed("--font")}`;
  pen.textAlign = "center";
  pen.textBaseline = "alphabetic";
  for (const { value, label } of ticksOf(first, ...ends[0]))
    pen.fillText(label, at(0, value).x, box.y + box.height + 17);
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const { value, label } of ticksOf(second, ...ends[1])) pen.fillText(label, box.x - 7, at(1, value).y);
  pen.strokeRect(box.x - 0.5, box.y - 0.5, box.width + 1, box.height + 1);
  pen.fillStyle = themed("--ink");
  pen.font = `600 13px ${themed("--font")}`;
  pen.textAlign = "center";
  pen.fillText(axisName(first), box.x + box.width / 2, box.y + box.height + 38);
  pen.save();
  pen.translate(14, box.y + box.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(axisName(second), 0, 0);
  pen.restore();
}
