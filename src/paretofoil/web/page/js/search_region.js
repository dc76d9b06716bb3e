/** The search region, and the part of it that the map shows. */

const MAX_ZOOM = 64;
/** Share of the map's side that the change should fill, if possible. */
const VISIBLE = 0.22;

/**
 * Return the commands that can still be fulfilled, and the command itself, as the library does: the remaining and the
 * whole return lie within the natural limits of each objective.
 * @returns {{low: number[], high: number[], simplex: boolean}}
 */
export function regionOf(agent, decision) {
  const { space, objectives } = agent;
  const simplex = space.kind === "simplex";
  if (simplex) return { low: space.low, high: space.high, simplex };
  const sides = objectives.map((objective, i) => {
    const collected = decision.collected[i],
      command = decision.command[i];
    const least = objective.natural_low ?? -Infinity,
      most = objective.natural_high ?? Infinity;
    const clip = (x) => Math.min(Math.max(x, Math.max(least, least - collected)), Math.min(most, most - collected));
    return [Math.min(clip(space.low[i]), command), Math.max(clip(space.high[i]), command)];
  });
  return { low: sides.map(([low]) => low), high: sides.map(([, high]) => high), simplex };
}

/** Return a command, clipped to the region. */
export function within(region, command) {
  return command.map((x, i) => Math.max(region.low[i], Math.min(region.high[i], x)));
}

/** Return the two objectives that the map shows: the chosen ones, or those that the answer changes most. */
export function axesOf(state) {
  if (state.axes) return state.axes;
  const changes = sharesOfChange(state);
  if (!changes) return [0, 1];
  const order = changes.map((_, i) => i).sort((i, j) => changes[j] - changes[i]);
  return order.slice(0, 2).sort((i, j) => i - j);
}

/** Return the zoom of the map: the chosen one, or one that makes the change visible. */
export function zoomOf(state) {
  if (state.zoom) return Math.max(1, Math.min(MAX_ZOOM, state.zoom));
  const changes = sharesOfChange(state);
  const largest = changes ? Math.max(...axesOf(state).map((i) => changes[i])) : 0;
  return largest > 0 ? Math.max(1, Math.min(MAX_ZOOM, 2 ** Math.floor(Math.log2(VISIBLE / largest)))) : 1;
}

function sharesOfChange(state) {
  const answer = state.answer.result?.answer;
  if (!answer?.quoted) return null;
  const { command, low, high } = answer.question;
  return answer.quoted.command.map((x, i) => Math.abs(x - command[i]) / (high[i] - low[i] || 1));
}

/** Return the part of a region around a command at some zoom. */
export function zoomed(region, centre, zoom) {
  const sides = region.low.map((low, i) => {
    const span = (region.high[i] - low) / zoom;
    const start = Math.max(low, Math.min(region.high[i] - span, centre[i] - span / 2));
    return [start, start + span];
  });
  return { ...region, low: sides.map(([low]) => low), high: sides.map(([, high]) => high) };
}
