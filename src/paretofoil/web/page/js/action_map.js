/** The map of actions: a slice through the command space, evaluated at the nodes of a grid. */

import { fetchProbabilities } from "./api.js";
import { logits } from "./policy.js";

/** Nodes on each side of the map. */
export const NODES = 61;
/** Pixels between two nodes. */
const FINE = 6;
/** Pixels on each side of the painted map. */
export const PAINTED = (NODES - 1) * FINE + 1;
const LEVELS = 32;
/** Shades between an action that barely wins and one that is certain. */

/**
 * Return the commands at the nodes. Two objectives vary, the others are those of the probe. The first row has the
 * highest value of the second objective, as in a picture.
 * @param {{low: number[], high: number[], simplex: boolean}} region
 * @returns {Float64Array} (NODES² x size)
 */
export function nodesOf(probe, [across, up], region) {
  const size = probe.length;
  const commands = new Float64Array(NODES * NODES * size);
  for (let row = 0; row < NODES; row++) {
    const y = between(region, up, 1 - row / (NODES - 1));
    for (let column = 0; column < NODES; column++) {
      const start = (row * NODES + column) * size;
      for (let i = 0; i < size; i++) commands[start + i] = probe[i];
      commands[start + across] = between(region, across, column / (NODES - 1));
      commands[start + up] = y;
      if (region.simplex) balance(commands, start, size, across, up);
    }
  }
  return commands;
}

function between(region, i, share) {
  return region.low[i] + share * (region.high[i] - region.low[i]);
}

/**
 * Make preferences sum to 1: the other weights share the rest in proportion. Where the two weights sum to more than 1,
 * the nearest preferences are evaluated instead; that part of the map is clipped.
 */
function balance(commands, start, size, across, up) {
  if (size === 2) return void (commands[start + up] = 1 - commands[start + across]);
  let others = 0;
  for (let i = 0; i < size; i++) if (i !== across && i !== up) others += commands[start + i];
  const two = commands[start + across] + commands[start + up];
  const left = Math.max(0, 1 - two);
  for (let i = 0; i < size; i++) {
    if (i === across || i === up) commands[start + i] /= Math.max(1, two);
    else commands[start + i] = others > 0 ? (commands[start + i] / others) * left : left / (size - 2);
  }
}

/** Return whether a node lies outside the simplex of preferences. */
export function isOutside(node, [across, up], region) {
  if (!region.simplex || region.low.length === 2) return false;
  const x = between(region, across, (node % NODES) / (NODES - 1));
  const y = between(region, up, 1 - Math.floor(node / NODES) / (NODES - 1));
  return x + y > 1 + 1e-9;
}

/**
 * Return a map from scores at the nodes.
 * @param {Float64Array} scores (NODES² x actions)
 * @param {number[]} valid
 */
export function mapOf(scores, actions, valid) {
  const count = NODES * NODES;
  const winners = new Uint8Array(count);
  const certainty = new Float64Array(count);
  for (let node = 0; node < count; node++) {
    const start = node * actions;
    let best = valid[0];
    for (const action of valid) if (scores[start + action] > scores[start + best]) best = action;
    let sum = 0;
    for (const action of valid) sum += Math.exp(scores[start + action] - scores[start + best]);
    winners[node] = best;
    certainty[node] = 1 / sum;
  }
  return { scores, actions, valid, winners, certainty };
}

/** Return the map of a white-box policy. */
export function computeMap(policy, valid, probe, axes, region) {
  return mapOf(logits(policy, nodesOf(probe, axes, region), NODES * NODES), policy.actions, valid);
}

/**
 * Return the map of one dimension of continuous actions: one colour, the darker the larger the amount.
 * @param {Float64Array} scores (NODES² x dimensions)
 */
export function amountMapOf(scores, { amounts }, dimension) {
  const { low, high } = amounts[dimension];
  const field = Float64Array.from({ length: NODES * NODES }, (_, node) =>
    Math.max(low, Math.min(high, scores[node * amounts.length + dimension])),
  );
  const [least, most] = [field.reduce((a, b) => Math.min(a, b)), field.reduce((a, b) => Math.max(a, b))];
  const certainty = field.map((x) => (x - least) / (most - least || 1));
  return { field, least, most, certainty, scores: field, actions: 1, valid: [0], winners: new Uint8Array(field.length) };
}

/** Return the map of a dimension of a white-box policy with continuous actions. */
export function computeAmountMap(policy, agent, dimension, probe, axes, region) {
  return amountMapOf(logits(policy, nodesOf(probe, axes, region), NODES * NODES), agent, dimension);
}

/** Commands per request. */
const BATCH = 1000;

/** @returns {Promise<Object>} the map of a black-box policy: the server evaluates the nodes */
export async function fetchMap(agent, decision, probe, axes, region, dimension = 0) {
  const commands = nodesOf(probe, axes, region);
  const size = probe.length,
    count = NODES * NODES;
  const rows = Array.from({ length: count }, (_, row) => [...commands.subarray(row * size, (row + 1) * size)]);
  const shares = [];
  for (let start = 0; start < count; start += BATCH) {
    shares.push(...(await fetchProbabilities(agent.name, decision, rows.slice(start, start + BATCH))));
  }
  if (agent.amounts) return amountMapOf(Float64Array.from(shares.flat()), agent, dimension);
  const actions = agent.actions.length;
  const scores = Float64Array.from({ length: count * actions }, (_, i) =>
    Math.log(Math.max(1e-12, shares[Math.floor(i / actions)][i % actions])),
  );
  return mapOf(scores, actions, decision.valid_actions);
}

/**
 * Paint a map. Scores are interpolated between the nodes, which makes borders smooth.
 * @param {number[][]} colours red, green, blue of each action
 * @param {number[]} paper the colour that an uncertain action fades into
 * @returns {ImageData}
 */
export function paint(map, colours, paper) {
  const image = new ImageData(PAINTED, PAINTED);
  const pixels = new Uint32Array(image.data.buffer);
  const shades = colours.map((colour) => shadesOf(colour, paper));
  for (let row = 0; row < NODES - 1; row++) {
    for (let column = 0; column < NODES - 1; column++) paintCell(map, pixels, shades, row, column);
  }
  return image;
}

function shadesOf(colour, paper) {
  return Uint32Array.from({ length: LEVELS + 1 }, (_, level) => {
    const strength = 0.2 + 0.42 * (level / LEVELS);
    const [red, green, blue] = colour.map((part, i) => Math.round(paper[i] + (part - paper[i]) * strength));
    return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
  });
}

function paintCell(map, pixels, shades, row, column) {
  const a = row * NODES + column,
    b = a + 1,
    c = a + NODES,
    d = c + 1;
  const { winners, certainty, scores, actions, valid } = map;
  const alike = winners[a] === winners[b] && winners[a] === winners[c] && winners[a] === winners[d];
  for (let y = 0; y <= FINE; y++) {
    const v = y / FINE;
    for (let x = 0; x <= FINE; x++) {
      const u = x / FINE;
      const wa = (1 - u) * (1 - v),
        wb = u * (1 - v),
        wc = (1 - u) * v,
        wd = u * v;
      let best = winners[a];
      if (!alike) {
        let most = -Infinity;
        for (const action of valid) {
          const score =
            wa * scores[a * actions + action] +
            wb * scores[b * actions + action] +
            wc * scores[c * actions + action] +
            wd * scores[d * actions + action];
          if (score > most) [most, best] = [score, action];
        }
      }
      const certain = wa * certainty[a] + wb * certainty[b] + wc * certainty[c] + wd * certainty[d];
      pixels[(row * FINE + y) * PAINTED + column * FINE + x] = shades[best][(certain * LEVELS) | 0];
    }
  }
}
