/** The map of a policy that the page cannot compute: the server is asked about the nodes. */

import { askPolicy } from "./api.js";
import { NODES, mapOf, nodesOf } from "./regions.js";

/** Commands in one request. */
const AT_ONCE = 1000;

/** @returns {Promise<Object>} a map as `computeMap` makes it */
export async function askMap(agent, decision, probe, axes, region) {
  const commands = nodesOf(probe, axes, region);
  const size = probe.length,
    count = NODES * NODES;
  const rows = Array.from({ length: count }, (_, row) => [...commands.subarray(row * size, (row + 1) * size)]);
  const shares = [];
  for (let start = 0; start < count; start += AT_ONCE) {
    shares.push(...(await askPolicy(agent.name, decision, rows.slice(start, start + AT_ONCE))));
  }
  const actions = agent.actions.length;
  const scores = Float64Array.from({ length: count * actions }, (_, i) =>
    Math.log(Math.max(1e-12, shares[Math.floor(i / actions)][i % actions])),
  );
  return mapOf(scores, actions, decision.valid_actions);
}
