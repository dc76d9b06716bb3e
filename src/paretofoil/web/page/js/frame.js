/** The frame of the map: from commands to pixels and back, and ticks at round numbers. */

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
export function ticksOf(objective, low, high) {
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
export function axisName(objective) {
  const unit = objective.probability ? "%" : objective.unit;
  return `${objective.name}${unit ? ` (${unit})` : ""}${objective.cost ? ", a cost" : ""}`;
}
