/**
 * A draft of the map, for as long as the hand moves: every second node is asked about first, and the nodes between them
 * only where they could matter. Where the same action wins clearly all around, scores are interpolated.
 */

import { logits } from "./policy.js";
import { NODES, mapOf, nodesOf } from "./regions.js";

/** @returns {Object} a map as `computeMap` makes it, from fewer questions */
export function draftMap(policy, valid, probe, axes, region) {
  const commands = nodesOf(probe, axes, region);
  const scores = new Float64Array(NODES * NODES * policy.actions);
  askAt(policy, commands, scores, every(2));
  const needed = doubtful(scores, policy.actions, valid);
  interpolate(scores, policy.actions, needed);
  askAt(
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

function askAt(policy, commands, scores, nodes) {
  const { size, actions } = policy;
  const asked = new Float64Array(nodes.length * size);
  nodes.forEach((node, i) => asked.set(commands.subarray(node * size, (node + 1) * size), i * size));
  const told = logits(policy, asked, nodes.length);
  nodes.forEach((node, i) => scores.set(told.subarray(i * actions, (i + 1) * actions), node * actions));
}

/** The nodes between those that are known, wherever a cell of four known ones is not clearly won. */
function doubtful(scores, actions, valid) {
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

/** Whether one action wins at all corners, each time by more than its lead differs between them. */
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

/** Between two known nodes, or four, their mean. */
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
