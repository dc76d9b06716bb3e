/** The state of the page. Parts of the page watch the keys that they draw. */

/** A job that has not started. */
export const IDLE = Object.freeze({ status: "idle", progress: null, result: null, error: null });

/** How a question is asked by default. `options` holds only options that differ from their defaults. */
export const DEFAULT_SETTINGS = Object.freeze({ search: "auto", seconds: null, queries: null, options: {} });

/** @type {State} */
const START = {
  view: "environments",
  agents: [],
  searches: [],
  optionInfos: [],
  agent: null,
  command: null,
  seed: 0,
  episode: null,
  step: 0,
  arrived: false,
  playing: false,
  foil: null,
  draft: null,
  settings: DEFAULT_SETTINGS,
  answer: IDLE,
  precomputed: {},
  bySearch: {},
  rollout: null,
  rolloutAt: 0,
  explore: null,
  axes: null,
  zoom: null,
  probe: null,
  folded: null,
  flips: IDLE,
  influence: IDLE,
  comparison: null,
  problem: null,
  busy: false,
  dark: false,
};

/** @typedef {ReturnType<typeof createStore>} Store */
/** @typedef {ReturnType<typeof createScope>} Scope */

/** Return a store: `get` the state, `set` changes, and `watch` some keys. */
export function createStore() {
  let state = { ...START };
  const watchers = new Set();

  /** @param {Partial<State>} changes */
  function set(changes) {
    const changed = new Set(Object.keys(changes).filter((key) => !Object.is(state[key], changes[key])));
    if (!changed.size) return;
    state = { ...state, ...changes };
    for (const watcher of [...watchers]) {
      // A watcher that an earlier one has removed must not draw any more.
      if (watchers.has(watcher) && watcher.keys.some((key) => changed.has(key))) watcher.run(state);
    }
  }

  /**
   * @param {Array<keyof State>} keys
   * @param {function(State): void} run
   */
  function watch(keys, run) {
    const watcher = { keys, run };
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  return { get: () => state, set, watch };
}

/**
 * Return a scope. Everything that a view watches ends with its scope.
 * @param {Store} store
 */
export function createScope(store) {
  const ends = [];
  return {
    /**
     * Draw now, and whenever one of the keys changes.
     * @param {Array<keyof State>} keys
     * @param {function(State): any} run
     */
    draw(keys, run) {
      ends.push(store.watch(keys, run));
      run(store.get());
    },
    /** @param {function(): any} run */
    onEnd(run) {
      ends.push(run);
    },
    end() {
      while (ends.length) ends.pop()();
    },
  };
}

/**
 * Return the decision of the current step.
 * @param {State} state
 */
export function decisionOf(state) {
  return state.episode ? state.episode.decisions[state.step] : null;
}

/**
 * Return the cells of the flip map: all of them, or those known so far.
 * @param {Task<any>} flips
 * @returns {Cell[]}
 */
export function cellsOf({ result, partial }) {
  const map = result?.flip_map;
  return map ? map.answers.map((answer, i) => cellOf(answer, map.steps[i])) : partial || [];
}

/**
 * @param {Answer} answer
 * @param {number} step
 * @returns {Cell}
 */
function cellOf({ status, sentence, question, quoted }, step) {
  const [limit] = question.amounts || [];
  const foil = limit ? 2 * limit.dimension + (limit.lower ? 0 : 1) : question.foil; // as `agent.actions` has them
  return { step, foil, status, distance: quoted ? quoted.distance : null, sentence };
}
