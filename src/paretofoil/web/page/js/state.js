/** What the page shows, in one place: parts of the page watch the keys they draw. */

/** Nothing asked, nothing running. */
export const IDLE = Object.freeze({ status: "idle", progress: null, result: null, error: null });

/** How one asks if one asks plainly. */
export const PLAIN_OPTIONS = Object.freeze({
  search: "auto",
  norm: "l2",
  kappa: null,
  keep: [],
  ranges: {},
  sparse: false,
  k: 1,
  min_change: 0,
  box: "reachable",
  seconds: null,
  queries: null,
});

const START = {
  view: "worlds",
  agents: [],
  searches: [],
  agent: null,
  command: null,
  seed: 0,
  episode: null,
  time: 0,
  playing: false,
  foil: null,
  options: PLAIN_OPTIONS,
  answer: IDLE,
  foreseen: {},
  gathered: {},
  shown: null,
  explore: null,
  axes: null,
  zoom: null,
  probe: null,
  folded: null,
  flips: IDLE,
  influence: IDLE,
  beside: null,
  problem: null,
  dark: false,
};

/** @typedef {ReturnType<typeof createStore>} Store */

/** A store: `get`, `set` with what changes, and `watch` some keys. */
export function createStore() {
  let state = { ...START };
  const watchers = new Set();

  function set(changes) {
    const changed = new Set(Object.keys(changes).filter((key) => !Object.is(state[key], changes[key])));
    if (!changed.size) return;
    state = { ...state, ...changes };
    for (const watcher of [...watchers]) {
      // One that an earlier one has removed no longer has anything to draw on.
      if (watchers.has(watcher) && watcher.keys.some((key) => changed.has(key))) watcher.run(state);
    }
  }

  function watch(keys, run) {
    const watcher = { keys, run };
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  return { get: () => state, set, watch, start: () => ({ ...START }) };
}

/** What a view needs as long as it is shown: everything that it watches ends with it. */
export function createScope(store) {
  const ends = [];
  return {
    /** Draw now, and whenever one of the keys changes. */
    draw(keys, run) {
      ends.push(store.watch(keys, run));
      run(store.get());
    },
    onEnd(run) {
      ends.push(run);
    },
    end() {
      while (ends.length) ends.pop()();
    },
  };
}

/** The decision that is looked at. */
export function decisionOf(state) {
  return state.episode ? state.episode.decisions[state.time] : null;
}

/** What is known of the flip map: all of it, or what has come so far. */
export function cellsOf({ result, partial }) {
  const map = result?.flip_map;
  return map ? map.answers.map((answer, i) => cellOf(answer, map.steps[i])) : partial || [];
}

function cellOf({ status, sentence, question, quoted }, step) {
  return { step, foil: question.foil, status, distance: quoted ? quoted.distance : null, sentence };
}
