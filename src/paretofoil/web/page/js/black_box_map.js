/** The map of a black-box policy: the server evaluates the nodes. */

import { fetchProbabilities } from "./api.js";
import { NODES, mapOf, nodesOf } from "./action_map.js";

/** Commands per request. */
const BATCH = 1000;

/** @returns {Promise<Object>} a map like that of `computeMap` */
export async function fetchMap(agent, decision, probe, axes, region) {
  const commands = nodesOf(probe, axes, region);
  const size = probe.length,
    count = NODES * NODES;
  const rows = Array.from({ length: count }, (_, row) => [...commands.subarray(row * size, (row + 1) * size)]);
  const shares = [];
  for (let start = 0; start < count; start += BATCH) {
    shares.push(...(await fetchProbabilities(agent.name, decision, rows.slice(start, start + BATCH))));
  }
  const actions = agent.actions.length;
  const scores = Float64Array.from({ length: count * actions }, (_, i) =>
    Math.log(Math.max(1e-12, shares[Math.floor(i / actions)][i % actions])),
  );
  return mapOf(scores, actions, decision.valid_actions);
}
