/** The searched region, and the part of it that the map shows. */

const MOST_ZOOM = 64;
/** Of the map's side, what a change should take if it can. */
const VISIBLE = 0.22;

/**
 * What can still be fulfilled of the command space, and the command itself. The same as the library's: what is left,
 * and the whole return, lie within the natural limits of each objective.
 * @returns {{low: number[], high: number[], simplex: boolean}}
 */
export function regionOf(agent, decision) {
  const { space, objectives } = agent;
  const simplex = space.kind === "simplex";
  if (simplex) return { low: space.low, high: space.high, simplex };
  const sides = objectives.map((objective, i) => {
    const had = decision.collected[i],
      asked = decision.command[i];
    const least = objective.natural_low ?? -Infinity,
      most = objective.natural_high ?? Infinity;
    const clip = (x) => Math.min(Math.max(x, Math.max(least, least - had)), Math.min(most, most - had));
    return [Math.min(clip(space.low[i]), asked), Math.max(clip(space.high[i]), asked)];
  });
  return { low: sides.map(([low]) => low), high: sides.map(([, high]) => high), simplex };
}

/** A command, moved into the region. */
export function within(region, command) {
  return command.map((x, i) => Math.max(region.low[i], Math.min(region.high[i], x)));
}

/** The two objectives that the map shows: those that were picked, or those that the answer changes most. */
export function axesOf(state) {
  if (state.axes) return state.axes;
  const changes = sharesOfChange(state);
  if (!changes) return [0, 1];
  const order = changes.map((_, i) => i).sort((i, j) => changes[j] - changes[i]);
  return order.slice(0, 2).sort((i, j) => i - j);
}

/** How far the map is zoomed in: as was chosen, or so far that the change can be seen. */
export function zoomOf(state) {
  if (state.zoom) return Math.max(1, Math.min(MOST_ZOOM, state.zoom));
  const changes = sharesOfChange(state);
  const largest = changes ? Math.max(...axesOf(state).map((i) => changes[i])) : 0;
  return largest > 0 ? Math.max(1, Math.min(MOST_ZOOM, 2 ** Math.floor(Math.log2(VISIBLE / largest)))) : 1;
}

function sharesOfChange(state) {
  const answer = state.answer.result?.answer;
  if (!answer?.quoted) return null;
  const { command, low, high } = answer.question;
  return answer.quoted.command.map((x, i) => Math.abs(x - command[i]) / (high[i] - low[i] || 1));
}

/** The part of a region around a command that a zoom leaves. */
export function zoomed(region, centre, zoom) {
  const sides = region.low.map((low, i) => {
    const span = (region.high[i] - low) / zoom;
    const start = Math.max(low, Math.min(region.high[i] - span, centre[i] - span / 2));
    return [start, start + span];
  });
  return { ...region, low: sides.map(([low]) => low), high: sides.map(([, high]) => high) };
}
