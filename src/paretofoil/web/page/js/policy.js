/**
 * The policy at one state as a function of the command: affine layers with activations between.
 *
 * The weights arrive as float32 and are stored as float64. JavaScript computes in float64, and would otherwise convert
 * each number whenever it is read.
 */

/** @typedef {{weight: Float64Array, bias: Float64Array, inputs: number, outputs: number, activation: string}} Layer */
/** @typedef {{layers: Layer[], size: number, actions: number}} Policy */

/** Rows that are computed together: each weight is read once for all of them. */
const ROWS = 4;

/**
 * @param {{layers: Array<{weight: string, bias: string, inputs: number, outputs: number, activation: string}>}} folded
 * @returns {Policy}
 */
export function readPolicy(folded) {
  const layers = folded.layers.map((layer) => ({ ...layer, weight: decode(layer.weight), bias: decode(layer.bias) }));
  return { layers, size: layers[0].inputs, actions: layers.at(-1).outputs };
}

/** Decode base64 of little-endian float32. */
function decode(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 4 }, (_, i) => view.getFloat32(4 * i, true));
}

/**
 * @param {Policy} policy
 * @param {Float64Array} commands (count x size), row by row
 * @returns {Float64Array} (count x actions)
 */
export function logits(policy, commands, count) {
  const padded = Math.ceil(count / ROWS) * ROWS;
  let hidden = new Float64Array(padded * policy.size);
  hidden.set(commands);
  for (const layer of policy.layers) {
    hidden = affine(hidden, padded, layer);
    activate(hidden, layer.activation);
  }
  return hidden.subarray(0, count * policy.actions);
}

/** Compute four rows and two outputs at a time. This takes most of the time of a map; eight sums fit the registers. */
function affine(rows, count, { weight, bias, inputs, outputs }) {
  const made = new Float64Array(count * outputs);
  for (let row = 0; row < count; row += ROWS) {
    const first = row * inputs,
      second = first + inputs,
      third = second + inputs,
      fourth = third + inputs;
    for (let output = 0; output < outputs; output += 2) {
      const other = Math.min(output + 1, outputs - 1); // an odd last output is computed twice
      const start = output * inputs,
        start2 = other * inputs;
      let a = bias[output],
        b = a,
        c = a,
        d = a;
      let e = bias[other],
        f = e,
        g = e,
        h = e;
      for (let i = 0; i < inputs; i++) {
        const w = weight[start + i],
          v = weight[start2 + i];
        const p = rows[first + i],
          q = rows[second + i],
          r = rows[third + i],
          s = rows[fourth + i];
        a += w * p;
        b += w * q;
        c += w * r;
        d += w * s;
        e += v * p;
        f += v * q;
        g += v * r;
        h += v * s;
      }
      const at = row * outputs + output,
        next = row * outputs + other;
      made[at] = a;
      made[at + outputs] = b;
      made[at + 2 * outputs] = c;
      made[at + 3 * outputs] = d;
      made[next] = e;
      made[next + outputs] = f;
      made[next + 2 * outputs] = g;
      made[next + 3 * outputs] = h;
    }
  }
  return made;
}

/** Apply an activation in place. Each kind has its own loop: a call for each number would be slower. */
function activate(values, kind) {
  if (kind === "relu") for (let i = 0; i < values.length; i++) values[i] = values[i] > 0 ? values[i] : 0;
  else if (kind === "sigmoid") for (let i = 0; i < values.length; i++) values[i] = 1 / (1 + Math.exp(-values[i]));
  else if (kind === "tanh") for (let i = 0; i < values.length; i++) values[i] = Math.tanh(values[i]);
  else if (kind === "elu")
    for (let i = 0; i < values.length; i++) values[i] = values[i] > 0 ? values[i] : Math.expm1(values[i]);
  else if (kind === "softplus")
    for (let i = 0; i < values.length; i++)
      values[i] = Math.max(values[i], 0) + Math.log1p(Math.exp(-Math.abs(values[i])));
  else if (kind === "silu") for (let i = 0; i < values.length; i++) values[i] = values[i] / (1 + Math.exp(-values[i]));
}

/**
 * Return the probabilities of all actions under a command. Invalid actions have 0.
 * @param {Policy} policy
 * @param {number[]} command
 * @param {number[]} valid
 * @returns {number[]}
 */
export function probabilities(policy, command, valid) {
  return shares(logits(policy, Float64Array.from(command), 1), 0, policy.actions, valid);
}

/**
 * Return the amounts of continuous actions under a command, within their ranges.
 * @param {{amounts: Array<{low: number, high: number}>}} agent
 * @param {Policy} policy
 * @param {number[]} command
 * @returns {number[]}
 */
export function amountsAt({ amounts }, policy, command) {
  const values = logits(policy, Float64Array.from(command), 1);
  return amounts.map(({ low, high }, i) => Math.max(low, Math.min(high, values[i])));
}

/** Return probabilities over the valid actions from the logits that start at an index. */
export function shares(scores, start, actions, valid) {
  const most = Math.max(...valid.map((action) => scores[start + action]));
  const made = new Array(actions).fill(0);
  let sum = 0;
  for (const action of valid) sum += made[action] = Math.exp(scores[start + action] - most);
  return made.map((weight) => weight / sum);
}
