/** The searched region: what can still be fulfilled of the command space, and the command itself. */

/**
 * The same as the library's: what is left, and the whole return, lie within the natural limits of each objective.
 * @returns {{low: number[], high: number[], simplex: boolean}}
 */
export function regionOf(agent, decision) {
  const { space, objectives } = agent;
  const simplex = space.kind === "simplex";
  if (simplex) return { low: space.low, high: space.high, simplex };
  const sides = objectives.map((objective, i) => {
    const had = decision.collected[i], asked = decision.command[i];
    const least = objective.natural_low ?? -Infinity, most = objective.natural_high ?? Infinity;
    const clip = (x) => Math.min(Math.max(x, Math.max(least, least - had)), Math.min(most, most - had));
    return [Math.min(clip(space.low[i]), asked), Math.max(clip(space.high[i]), asked)];
  });
  return { low: sides.map(([low]) => low), high: sides.map(([, high]) => high), simplex };
}

/** A command, moved into the region. */
export function within(region, command) {
  return command.map((x, i) => Math.max(region.low[i], Math.min(region.high[i], x)));
}
