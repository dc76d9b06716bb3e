/**
 * A draft of the map while the command moves. Every second node is evaluated, and the nodes between them only where
 * the winner may change. Where one action wins clearly on all sides, scores are interpolated.
 */

import { logits } from "./policy.js";
import { NODES, mapOf, nodesOf } from "./action_map.js";

/** @returns {Object} a map like that of `computeMap`, from fewer evaluations */
export function draftMap(policy, valid, probe, axes, region) {
  const commands = nodesOf(probe, axes, region);
  const scores = new Float64Array(NODES * NODES * policy.actions);
  evaluateAt(policy, commands, scores, every(2));
  const needed = uncertainNodes(scores, policy.actions, valid);
  interpolate(scores, policy.actions, needed);
  evaluateAt(
    policy,
    commands,
    scores,
    needed.reduce((nodes, need, node) => (need && nodes.push(node), nodes), []),
  );
  return mapOf(scores, policy.actions, valid);
}

function every(step) {
  const nodes = [];
  for (let row = 0; row < NODES; row += step)
    for (let column = 0; column < NODES; column += step) nodes.push(row * NODES + column);
  return nodes;
}

function evaluateAt(policy, commands, scores, nodes) {
  const { size, actions } = policy;
  const rows = new Float64Array(nodes.length * size);
  nodes.forEach((node, i) => rows.set(commands.subarray(node * size, (node + 1) * size), i * size));
  const values = logits(policy, rows, nodes.length);
  nodes.forEach((node, i) => scores.set(values.subarray(i * actions, (i + 1) * actions), node * actions));
}

/** Return which nodes between known ones must be evaluated: those of cells that no action wins clearly. */
function uncertainNodes(scores, actions, valid) {
  const needed = new Uint8Array(NODES * NODES);
  for (let row = 0; row < NODES - 1; row += 2) {
    for (let column = 0; column < NODES - 1; column += 2) {
      const node = row * NODES + column;
      if (isClear(scores, actions, valid, [node, node + 2, node + 2 * NODES, node + 2 * NODES + 2])) continue;
      for (const between of [1, NODES, NODES + 1, NODES + 2, 2 * NODES + 1]) needed[node + between] = 1;
    }
  }
  return needed;
}

/** Return whether one action wins at all corners by more than its lead varies between them. */
function isClear(scores, actions, valid, corners) {
  const start = corners[0] * actions;
  let best = valid[0];
  for (const action of valid) if (scores[start + action] > scores[start + best]) best = action;
  for (const action of valid) {
    if (action === best) continue;
    let least = Infinity,
      most = -Infinity;
    for (const corner of corners) {
      const lead = scores[corner * actions + best] - scores[corner * actions + action];
      least = Math.min(least, lead);
      most = Math.max(most, lead);
    }
    if (least <= most - least) return false;
  }
  return true;
}

/** Set the other nodes to the mean of their known neighbours. */
function interpolate(scores, actions, needed) {
  for (let row = 0; row < NODES; row++) {
    for (let column = row % 2 ? 0 : 1; column < NODES; column += row % 2 ? 1 : 2) {
      const node = row * NODES + column;
      if (needed[node]) continue;
      const [down, right] = [row % 2 ? NODES : 0, column % 2];
      for (let action = 0; action < actions; action++) {
        const at = (other) => scores[other * actions + action];
        scores[node * actions + action] =
          (at(node - down - right) + at(node - down + right) + at(node + down - right) + at(node + down + right)) / 4;
      }
    }
  }
}
