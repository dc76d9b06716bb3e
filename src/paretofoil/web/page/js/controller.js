/** The steps of a visit: choose an environment, a command, a step, a foil. Each loads what it needs into the state. */

import {
  deleteAgent,
  listAgents,
  listOptions,
  listSearches,
  readAgent,
  readFolded,
  rollOut,
  rollOutFrom,
  work,
} from "./api.js";
import { prefersReducedMotion } from "./dom.js";
import { readPolicy } from "./policy.js";
import { DEFAULT_SETTINGS, IDLE, cellsOf, decisionOf } from "./state.js";

/** Milliseconds at a step after which its foils are computed in the background. */
const DELAY = 500;
/** @type {Partial<State>} */
const NO_QUESTION = { foil: null, answer: IDLE, bySearch: {}, rollout: null, probe: null, zoom: null };
/** Steps that are asked about when another step with a possible foil is looked for. */
const LOOKED_AT = 24;
/** @type {Partial<State>} */
const NEW_STEP = { ...NO_QUESTION, precomputed: {}, folded: null, arrived: false };

/** @typedef {ReturnType<typeof createController>} Controller */

/** @param {import("./state.js").Store} store */
export function createController(store) {
  let version = 0; // a later choice makes the data of an earlier one obsolete
  let foreground = new AbortController();
  let background = new AbortController();
  let timer = 0;

  /** Load data and show errors. `isCurrent` returns false once another choice was made. */
  async function load(run, retry) {
    const mine = ++version;
    abortRequests();
    store.set({ problem: null, busy: true, playing: false });
    try {
      await run(() => mine === version);
    } catch (error) {
      if (mine === version && error.name !== "AbortError") store.set({ problem: { error, retry } });
    }
    if (mine === version) store.set({ busy: false });
  }

  function abortRequests() {
    foreground.abort();
    background.abort();
    clearTimeout(timer);
  }

  /** Show the environments. */
  function showEnvironments() {
    return load(async (isCurrent) => {
      const agents = store.get().agents.length ? store.get().agents : await listAgents();
      if (isCurrent()) store.set({ agents, view: "environments", agent: null, episode: null, playing: false });
    }, showEnvironments);
  }

  /** Show the goals of an agent. */
  function openAgent(name) {
    return load(
      async (isCurrent) => {
        const agent = await readAgent(name);
        if (agent.observation) return isCurrent() && openFirst(name);
        if (isCurrent()) store.set({ agent, view: "goals", episode: null, playing: false });
      },
      () => openAgent(name),
    );
  }

  /** Show an agent at a telling step: that of its guide, or the one at which it is least certain. */
  function openFirst(name) {
    return load(
      async (isCurrent) => {
        const agent = await readAgent(name);
        const command = agent.observation?.example || agent.guide?.command || agent.front[Math.floor(agent.front.length / 2)];
        if (!command) return isCurrent() && store.set({ agent, view: "goals", episode: null });
        const episode = await rollOut(name, command, 0);
        const step = Math.min(agent.guide?.step ?? leastCertain(episode), episode.decisions.length - 1);
        if (isCurrent()) show(agent, episode, command, 0, { step, playing: false, explore: null, axes: null });
      },
      () => openFirst(name),
    );
  }

  /** Show the goals of an agent that was just uploaded. */
  async function openUploaded(agent) {
    store.set({ agents: await listAgents() });
    return openAgent(agent.name);
  }

  /** Delete an agent that was uploaded, and show the others. */
  function remove(name) {
    return load(
      async () => {
        await deleteAgent(name);
        store.set({ agents: await listAgents(), view: "environments", agent: null, episode: null });
      },
      () => remove(name),
    );
  }

  /** Issue a command and show the episode, from the first step that has a choice. */
  function startEpisode(command, { seed = 0, play = true } = {}) {
    return load(
      async (isCurrent) => {
        const { agent } = store.get();
        const episode = await rollOut(agent.name, command, seed);
        const playing = play && !prefersReducedMotion();
        const choice = episode.decisions.findIndex((decision) => decision.valid_actions.length > 1);
        if (isCurrent()) show(agent, episode, command, seed, { step: Math.max(0, choice), playing });
      },
      () => startEpisode(command, { seed, play }),
    );
  }

  function show(agent, episode, command, seed, changes) {
    store.set({
      ...NEW_STEP,
      draft: null,
      flips: IDLE,
      influence: IDLE,
      settings: DEFAULT_SETTINGS,
      agent,
      episode,
      command,
      seed,
      view: "episode",
      ...changes,
    });
    onStepShown();
  }

  /**
   * Show everything that a link names. The state changes once, when all of it is loaded.
   * @param {import("./link.js").Link} link
   */
  function openLink(link) {
    return load(
      async (isCurrent) => {
        const [agents, agent] = await Promise.all([listAgents(), readAgent(link.agent)]);
        const command = link.command || agent.observation?.example;
        const episode = command && (await rollOut(agent.name, command, link.seed));
        if (!isCurrent()) return;
        if (!episode) return store.set({ agents, agent, view: "goals", episode: null });
        const { settings, zoom, comparison } = link;
        const axes = link.axes?.every((i) => i in agent.objectives) ? link.axes : null;
        const probe = link.probe?.length === agent.objectives.length ? link.probe : null;
        const step = Math.min(link.step, episode.decisions.length - 1);
        const changes = {
          agents,
          step,
          playing: false,
          settings,
          explore: link.explore,
          axes,
          zoom,
          probe,
          comparison,
        };
        show(agent, episode, command, link.seed, changes);
        const action = agent.actions.indexOf(link.foil);
        const { outcome, share } = link;
        if (outcome) await ask(share ? { outcome, share } : { outcome });
        else if (action >= 0) await ask(action);
        else if (link.foil && agent.amounts) await ask({ amount: link.foil });
      },
      () => openLink(link),
    );
  }

  /** Show another step. The one after the last decision shows how the episode ends. */
  function goToStep(step) {
    const { episode, arrived } = store.get();
    const last = episode.decisions.length - 1;
    const target = Math.max(0, Math.min(step, last));
    if (target === store.get().step && step > last !== arrived) return store.set({ arrived: step > last });
    if (target === store.get().step) return;
    abortRequests();
    store.set({ ...NEW_STEP, step: target, arrived: step > last });
    onStepShown();
  }

  /** Ask at a step. */
  function askAt(step, foil) {
    store.set({ playing: false, arrived: false });
    goToStep(step);
    return ask(foil);
  }

  /** Load what is useful before a question: the policy at this state, and which foils are impossible. */
  function onStepShown() {
    clearTimeout(timer);
    loadPanelData();
    timer = setTimeout(precompute, DELAY);
  }

  /** Start or stop the film. What is useful before a question is loaded when it stops. */
  function setPlaying(playing) {
    store.set({ playing });
    if (!playing && store.get().view === "episode") onStepShown();
  }

  /** Load the policy at this step as a function of the command, for the map. */
  async function fold() {
    const { agent, episode, step, playing } = store.get();
    if (playing || !agent.white_box || store.get().folded) return;
    const folded = readPolicy(await readFolded(agent.name, episode.decisions[step].state));
    if (store.get().episode === episode && store.get().step === step) store.set({ folded });
  }

  /** Ask about each foil of the step in the background. Errors are ignored: the answer is then not known beforehand. */
  async function precompute() {
    const state = store.get();
    if (state.playing || state.view !== "episode" || !state.agent.white_box) return;
    background = new AbortController();
    const { signal } = background;
    for (const foil of foilsOf(state).filter((action) => !state.precomputed[action])) {
      try {
        const result = await work("answers", questionOf(state, foil, DEFAULT_SETTINGS), { signal });
        if (signal.aborted) return;
        store.set({ precomputed: { ...store.get().precomputed, [foil]: result } });
      } catch {
        if (signal.aborted) return;
      }
    }
  }

  /**
   * Ask why not this action, or this outcome.
   * @param {Foil} foil
   */
  async function ask(foil) {
    foreground.abort();
    foreground = new AbortController();
    const { signal } = foreground;
    const changes = { foil, playing: false, arrived: false, bySearch: {}, rollout: null };
    if (typeof foil === "object" && foil.outcome) store.set({ draft: foil.outcome });
    store.set({ ...changes, answer: { ...IDLE, status: "waiting" } });
    fold().catch(() => {});
    const onProgress = (progress) => {
      background.abort(); // not before: the same question may be running there, and must not start again
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "waiting", progress } });
    };
    try {
      const result = await work("answers", questionOf(store.get(), foil, store.get().settings), { signal, onProgress });
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "done", result } });
    } catch (error) {
      const status = error.name === "AbortError" ? "cancelled" : "failed";
      const isCurrent = foreground.signal === signal && store.get().foil === foil; // else another episode is shown
      if (isCurrent) store.set({ answer: { ...IDLE, status, error } });
    }
    if (!signal.aborted) timer = setTimeout(precompute, DELAY);
  }

  /** Stop the search that is running. */
  function cancel() {
    foreground.abort();
  }

  /** Change how questions are asked, and ask again. */
  function setSettings(changes) {
    store.set({ settings: { ...store.get().settings, ...changes } });
    if (store.get().foil !== null) ask(store.get().foil);
  }

  /**
   * Change one option, and ask again.
   * @param {OptionInfo} info
   */
  function setOption(info, value) {
    const options = { ...store.get().settings.options, [info.name]: value };
    if (JSON.stringify(value) === JSON.stringify(info.default)) delete options[info.name];
    setSettings({ options });
  }

  /** Show what happens if a command is issued at this step: on the stage, as a film of its own. */
  async function showRollout(issued, kind) {
    const { agent, command, seed, step } = store.get();
    /** @type {Rollout} */
    const waiting = { kind, status: "waiting" };
    store.set({ playing: false, arrived: false, rollout: waiting, rolloutAt: 0 });
    const put = (changes) => store.get().rollout === waiting && store.set(changes);
    try {
      const { episode: rest } = await rollOutFrom({ agent: agent.name, command, seed, step }, issued);
      const end = rest.decisions.length;
      const calm = prefersReducedMotion();
      put({ rollout: { kind, status: "done", rest, issued }, rolloutAt: calm ? end : 0, playing: !calm });
    } catch (error) {
      put({ rollout: { kind, status: "failed", error } });
    }
  }

  /** Go back from the film of another command to the episode. */
  function closeRollout() {
    store.set({ rollout: null, playing: false });
  }

  /** Start the episode of the command that was shown, from the start. */
  function askInstead() {
    const { agent, rollout, seed } = store.get();
    return startEpisode(wholeCommand(agent, rollout), { seed });
  }

  /** Take a command in hand. What was shown of another one is over. */
  function moveProbe(moved) {
    const { objectives } = store.get().agent;
    const probe = moved && moved.map((x, i) => (objectives[i].whole ? Math.round(x) : x));
    store.set({ probe, rollout: null, playing: false, arrived: false });
  }

  /**
   * Look for a step at which some command leads to the foil, nearest steps first, and ask there.
   * @returns {Promise<boolean>} whether there is one
   */
  async function findOtherStep(foil) {
    const state = store.get();
    const { agent, command, seed, step, episode } = state;
    const steps = episode.decisions
      .filter(({ action, valid_actions: valid }) => action !== foil && valid.includes(foil))
      .map((decision) => decision.step)
      .filter((other) => other !== step)
      .sort((a, b) => Math.abs(a - step) - Math.abs(b - step))
      .slice(0, LOOKED_AT);
    if (!steps.length) return false;
    const search = new AbortController();
    foreground = search;
    let cells = [];
    const possible = () => cells.filter((cell) => cell.foil === foil && cell.distance !== null);
    const onProgress = (_, partial) => {
      cells = partial;
      if (possible().length) search.abort(); // one is enough
    };
    const request = { agent: agent.name, command, seed, steps, search: "auto", seconds: 2 };
    try {
      cells = cellsOf({ ...IDLE, result: await work("flip-maps", request, { signal: search.signal, onProgress }) });
    } catch (error) {
      if (error.name !== "AbortError") throw error;
    }
    if (store.get().answer !== state.answer) return true;
    const nearest = possible().sort((a, b) => Math.abs(a.step - step) - Math.abs(b.step - step))[0];
    if (nearest) await askAt(nearest.step, foil);
    return Boolean(nearest);
  }

  /** Open a panel, or close it with null. */
  function explore(tab) {
    store.set({ explore: tab });
    loadPanelData();
  }

  /** Load what the open panel needs. */
  function loadPanelData() {
    fold().catch(() => {}); // without it there is no map
    if (store.get().explore && !store.get().searches.length)
      Promise.all([listSearches(), listOptions()]).then(
        ([searches, optionInfos]) => store.set({ searches, optionInfos }),
        () => {},
      );
  }

  return {
    showEnvironments,
    openAgent,
    openFirst,
    openUploaded,
    remove,
    startEpisode,
    openLink,
    goToStep,
    play: setPlaying,
    ask,
    askAt,
    findOtherStep,
    cancel,
    setSettings,
    setOption,
    showRollout,
    closeRollout,
    askInstead,
    moveProbe,
    explore,
    fold,
  };
}

/** Return the step at which the agent is least certain of its action. */
function leastCertain({ decisions }) {
  const certainty = ({ probabilities, action, valid_actions: valid }) => 
    valid.length > 1 ? (probabilities[action] ?? 1) : 2;
  return decisions.reduce((best, decision, i) => (certainty(decision) < certainty(decisions[best]) ? i : best), 0);
}

/**
 * Return what a command that was issued at a step asks for in all: with what was collected before. Preferences ask for
 * no amounts.
 * @param {Agent} agent
 * @param {Rollout} rollout
 */
export function wholeCommand(agent, { issued, rest }) {
  if (agent.space.kind === "simplex") return issued;
  const { collected } = rest.decisions[0];
  return issued.map((x, i) => Number((x + (collected[i] ?? 0)).toPrecision(10)));
}

/**
 * Return the foils of the current step: the valid actions that the agent does not choose.
 * @param {State} state
 */
export function foilsOf(state) {
  const decision = decisionOf(state);
  return decision ? decision.valid_actions.filter((action) => action !== decision.action) : [];
}

/**
 * Return the server's request for a question.
 * @param {State} state
 * @param {Foil} foil
 * @param {Settings} settings
 */
export function questionOf(state, foil, settings) {
  const { agent, command, seed, step } = state;
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  const named = typeof foil === "number" ? { foil: agent.actions[foil] } : foil.amount ? { foil: foil.amount } : foil;
  return { agent: agent.name, command, seed, step, ...named, ...set };
}
