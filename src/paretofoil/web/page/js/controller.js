/** The steps of a visit: choose an environment, a command, a step, a foil. Each loads what it needs into the state. */

import { listAgents, listOptions, listSearches, readAgent, readFolded, rollOut, rollOutFrom, work } from "./api.js";
import { prefersReducedMotion } from "./dom.js";
import { readPolicy } from "./policy.js";
import { DEFAULT_SETTINGS, IDLE, decisionOf } from "./state.js";

/** Milliseconds at a step after which its foils are computed in the background. */
const DELAY = 500;
/** @type {Partial<State>} */
const NO_QUESTION = { foil: null, answer: IDLE, bySearch: {}, rollout: null, probe: null, zoom: null };
/** @type {Partial<State>} */
const NEW_STEP = { ...NO_QUESTION, precomputed: {}, folded: null };

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
    store.set({ problem: null });
    try {
      await run(() => mine === version);
    } catch (error) {
      if (mine === version && error.name !== "AbortError") store.set({ problem: { error, retry } });
    }
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
        if (isCurrent()) store.set({ agent, view: "goals", episode: null, playing: false });
      },
      () => openAgent(name),
    );
  }

  /** Show the goals of an agent that was just uploaded. */
  async function openUploaded(agent) {
    store.set({ agents: await listAgents() });
    return openAgent(agent.name);
  }

  /** Issue a command and show the episode. */
  function startEpisode(command, { seed = 0, play = true } = {}) {
    return load(
      async (isCurrent) => {
        const { agent } = store.get();
        const episode = await rollOut(agent.name, command, seed);
        const playing = play && !prefersReducedMotion();
        if (isCurrent()) show(agent, episode, command, seed, { step: 0, playing });
      },
      () => startEpisode(command, { seed, play }),
    );
  }

  function show(agent, episode, command, seed, changes) {
    store.set({
      ...NEW_STEP,
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
    store.set({ playing: false });
    return load(
      async (isCurrent) => {
        const [agents, agent] = await Promise.all([listAgents(), readAgent(link.agent)]);
        const episode = link.command && (await rollOut(agent.name, link.command, link.seed));
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
        show(agent, episode, link.command, link.seed, changes);
        const foil = agent.actions.indexOf(link.foil);
        if (foil >= 0) await ask(foil);
      },
      () => openLink(link),
    );
  }

  /** Show another step. */
  function goToStep(step) {
    const { episode } = store.get();
    const target = Math.max(0, Math.min(step, episode.decisions.length - 1));
    if (target === store.get().step) return;
    abortRequests();
    store.set({ ...NEW_STEP, step: target });
    onStepShown();
  }

  /** Load what is useful before a question: the policy at this state, and which foils are impossible. */
  function onStepShown() {
    clearTimeout(timer);
    loadPanelData();
    timer = setTimeout(precompute, DELAY);
  }

  /** Load the policy at this step as a function of the command, for the map. */
  async function fold() {
    const { agent, episode, step } = store.get();
    if (!agent.white_box || store.get().folded) return;
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

  /** Ask why not this action. */
  async function ask(foil) {
    foreground.abort();
    foreground = new AbortController();
    const { signal } = foreground;
    store.set({ foil, playing: false, answer: { ...IDLE, status: "waiting" }, bySearch: {}, rollout: null });
    const onProgress = (progress) => {
      background.abort(); // not before: the same question may be running there, and must not start again
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "waiting", progress } });
    };
    try {
      const result = await work("answers", questionOf(store.get(), foil, store.get().settings), { signal, onProgress });
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "done", result } });
    } catch (error) {
      const status = error.name === "AbortError" ? "cancelled" : "failed";
      if (foreground.signal === signal) store.set({ answer: { ...IDLE, status, error } });
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

  /** Show what happens if a command is issued at this step. */
  async function showRollout(issued, kind) {
    const { agent, command, seed, step, answer } = store.get();
    store.set({ playing: false, rollout: { kind, status: "waiting" } });
    try {
      const { episode: rest } = await rollOutFrom({ agent: agent.name, command, seed, step }, issued);
      if (store.get().answer === answer) store.set({ rollout: { kind, status: "done", rest, issued } });
    } catch (error) {
      if (store.get().answer === answer) store.set({ rollout: { kind, status: "failed", error } });
    }
  }

  /** Open a panel, or close it with null. */
  function explore(tab) {
    store.set({ explore: tab });
    loadPanelData();
  }

  /** Load what the open panel needs. */
  function loadPanelData() {
    if (store.get().explore === "space") fold();
    if (store.get().explore && !store.get().searches.length)
      Promise.all([listSearches(), listOptions()]).then(
        ([searches, optionInfos]) => store.set({ searches, optionInfos }),
        () => {},
      );
  }

  return {
    showEnvironments,
    openAgent,
    openUploaded,
    startEpisode,
    openLink,
    goToStep,
    ask,
    cancel,
    setSettings,
    setOption,
    showRollout,
    explore,
    fold,
  };
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
 */
export function questionOf(state, foil, settings) {
  const { agent, command, seed, step } = state;
  const set = Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
  return { agent: agent.name, command, seed, step, foil: agent.actions[foil], ...set };
}
