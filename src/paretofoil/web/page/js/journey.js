/** What a person does here: picks a world, a goal, a moment, a foil. Each loads what it needs into the state. */

import { listAgents, listSearches, readAgent, readFolded, rollOn, rollOut, work } from "./api.js";
import { calm } from "./dom.js";
import { readPolicy } from "./policy.js";
import { IDLE, PLAIN_OPTIONS, decisionOf } from "./state.js";

/** How long one has to stay at a moment before its foils are asked about unasked, in milliseconds. */
const DWELL = 500;
const NOTHING_ASKED = { foil: null, answer: IDLE, gathered: {}, shown: null, probe: null, zoom: null };

/** @typedef {ReturnType<typeof createJourney>} Journey */

/** @param {import("./state.js").Store} store */
export function createJourney(store) {
  let trip = 0; // a later choice makes what an earlier one still loads worthless
  let asking = new AbortController();
  let unasked = new AbortController();
  let dwell = 0;

  /** Load, and show kindly what goes wrong; nothing of it counts once another choice was made. */
  async function load(run, retry) {
    const mine = ++trip;
    stopAsking();
    store.set({ problem: null });
    try {
      await run(() => mine === trip);
    } catch (error) {
      if (mine === trip && error.name !== "AbortError") store.set({ problem: { error, retry } });
    }
  }

  function stopAsking() {
    asking.abort();
    unasked.abort();
    clearTimeout(dwell);
  }

  /** The first page. */
  function showWorlds() {
    return load(async (current) => {
      const agents = store.get().agents.length ? store.get().agents : await listAgents();
      if (current()) store.set({ agents, view: "worlds", agent: null, episode: null, playing: false });
    }, showWorlds);
  }

  /** An agent's goals. */
  function openAgent(name) {
    return load(
      async (current) => {
        const agent = await readAgent(name);
        if (current()) store.set({ agent, view: "goals", episode: null, playing: false });
      },
      () => openAgent(name),
    );
  }

  /** An agent that was just brought here. */
  async function welcome(agent) {
    store.set({ agents: await listAgents() });
    return openAgent(agent.name);
  }

  /** Issue a command and see what the agent does. */
  function setOut(command, { seed = 0, play = true } = {}) {
    return load(
      async (current) => {
        const episode = await rollOut(store.get().agent.name, command, seed);
        if (current()) show(episode, command, seed, { time: 0, playing: play && !calm() });
      },
      () => setOut(command, { seed, play }),
    );
  }

  function show(episode, command, seed, rest) {
    store.set({
      ...NOTHING_ASKED,
      foreseen: {},
      folded: null,
      flips: IDLE,
      influence: IDLE,
      options: PLAIN_OPTIONS,
      explore: store.get().explore,
      episode,
      command,
      seed,
      view: "episode",
      ...rest,
    });
    arrive();
  }

  /** Everything that a link names, in its order. */
  function restore(link) {
    return load(
      async (current) => {
        const [agents, agent] = await Promise.all([listAgents(), readAgent(link.agent)]);
        if (!current()) return;
        store.set({ agents, agent });
        if (!link.command) return store.set({ view: "goals", episode: null });
        const episode = await rollOut(agent.name, link.command, link.seed);
        if (!current()) return;
        const { options, explore, beside } = link;
        const axes = link.axes?.every((i) => i in agent.objectives) ? link.axes : null;
        const probe = link.probe?.length === agent.objectives.length ? link.probe : null;
        const time = Math.min(link.time, episode.decisions.length - 1);
        show(episode, link.command, link.seed, {
          time,
          playing: false,
          options,
          explore,
          axes,
          zoom: link.zoom,
          probe,
          beside,
        });
        const foil = agent.actions.indexOf(link.foil);
        if (foil >= 0) await ask(foil);
      },
      () => restore(link),
    );
  }

  /** Look at another moment. */
  function goTo(time) {
    const { episode } = store.get();
    const there = Math.max(0, Math.min(time, episode.decisions.length - 1));
    if (there === store.get().time) return;
    stopAsking();
    store.set({ ...NOTHING_ASKED, foreseen: {}, folded: null, time: there });
    arrive();
  }

  /** What is worth knowing before one asks: the policy at this state, and which foils are impossible. */
  function arrive() {
    clearTimeout(dwell);
    furnish();
    dwell = setTimeout(foresee, DWELL);
  }

  /** The policy at this moment as a function of the command, for the map. */
  async function fold() {
    const { agent, episode, time } = store.get();
    if (!agent.white_box || store.get().folded) return;
    const folded = readPolicy(await readFolded(agent.name, episode.decisions[time].state));
    if (store.get().episode === episode && store.get().time === time) store.set({ folded });
  }

  /** Ask about each foil of the moment in the background; what fails is simply not known beforehand. */
  async function foresee() {
    const state = store.get();
    if (state.playing || state.view !== "episode" || !state.agent.white_box) return;
    unasked = new AbortController();
    const { signal } = unasked;
    for (const foil of foilsOf(state).filter((action) => !state.foreseen[action])) {
      try {
        const result = await work("answers", questionOf(state, foil, PLAIN_OPTIONS), { signal });
        if (signal.aborted) return;
        store.set({ foreseen: { ...store.get().foreseen, [foil]: result } });
      } catch {
        if (signal.aborted) return;
      }
    }
  }

  /** Why not this one? */
  async function ask(foil) {
    asking.abort();
    asking = new AbortController();
    const { signal } = asking;
    store.set({ foil, playing: false, answer: { ...IDLE, status: "waiting" }, gathered: {}, shown: null });
    const onProgress = (progress) => {
      unasked.abort(); // not before: the same question may be among them, and is then not begun anew
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "waiting", progress } });
    };
    try {
      const result = await work("answers", questionOf(store.get(), foil, store.get().options), { signal, onProgress });
      if (!signal.aborted) store.set({ answer: { ...IDLE, status: "done", result } });
    } catch (error) {
      const status = error.name === "AbortError" ? "cancelled" : "failed";
      if (asking.signal === signal) store.set({ answer: { ...IDLE, status, error } });
    }
    if (!signal.aborted) dwell = setTimeout(foresee, DWELL);
  }

  /** Stop the search that is running. */
  function cancel() {
    asking.abort();
  }

  /** Ask again with other options. */
  function setOptions(changes) {
    store.set({ options: { ...store.get().options, ...changes } });
    if (store.get().foil !== null) ask(store.get().foil);
  }

  /** Play what follows if a command is issued now. */
  async function showMe(issued, kind) {
    const { agent, command, seed, time, answer } = store.get();
    store.set({ playing: false, shown: { kind, status: "waiting" } });
    try {
      const { episode: tail, consequence } = await rollOn({ agent: agent.name, command, seed, time }, issued);
      if (store.get().answer === answer) store.set({ shown: { kind, status: "done", tail, consequence, issued } });
    } catch (error) {
      if (store.get().answer === answer) store.set({ shown: { kind, status: "failed", error } });
    }
  }

  /** Open a panel for experts, or close it. */
  function explore(tab) {
    store.set({ explore: tab });
    furnish();
  }

  /** What the open panel needs. */
  function furnish() {
    if (store.get().explore === "space") fold();
    if (store.get().explore && !store.get().searches.length)
      listSearches().then(
        (searches) => store.set({ searches }),
        () => {},
      );
  }

  return { showWorlds, openAgent, welcome, setOut, restore, goTo, ask, cancel, setOptions, showMe, explore, fold };
}

/** The foils of the moment: what could be done, and is not. */
export function foilsOf(state) {
  const decision = decisionOf(state);
  return decision ? decision.valid_actions.filter((action) => action !== decision.action) : [];
}

/** A question as the server takes it. */
export function questionOf(state, foil, options) {
  const { agent, command, seed, time } = state;
  const said = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null));
  return { agent: agent.name, command, seed, time, foil: agent.actions[foil], ...said };
}
