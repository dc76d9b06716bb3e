/** Load what a screen needs: agents, episodes, and the explanations that the condition shows. */

import { readAgent, rollOut, work } from "./api.js";

/** Time limit for the influence at each step, in seconds. */
const SECONDS = 1;

/**
 * @param {StudyScreen} screen
 * @param {string[]} shows
 */
export function loadScreen(screen, shows) {
  return Promise.all(screen.episodes.map((watched) => loadEpisode(watched, shows)));
}

/**
 * @param {WatchedEpisode} watched
 * @param {string[]} shows
 */
async function loadEpisode(watched, shows) {
  const { agent: name, command, seed, until } = watched;
  const [agent, episode] = await Promise.all([readAgent(name), rollOut(name, command, seed)]);
  const request = { agent: name, command, seed };
  const explained = shows.includes("counterfactuals") ? watched.explained : [];
  const steps = shows.includes("influence") ? watchedSteps(until, episode) : [];
  const pictures = preload(episode, until);
  const [answers, influence] = await Promise.all([
    Promise.all(explained.map((question) => work("answers", { ...request, ...question }))),
    steps.length ? work("influence", { ...request, steps, seconds: SECONDS }) : null,
  ]);
  await pictures;
  return { watched, agent, episode, explained, answers, influences: influence ? influence.influence.steps : [] };
}

/** Return the steps that are watched, without the step of the task. */
function watchedSteps(until, episode) {
  return Array.from({ length: until ?? episode.decisions.length }, (_, step) => step);
}

/** Load the pictures. A missing picture does not stop the study. */
function preload(episode, until) {
  const frames =
    until === null ? [...episode.decisions, { picture: episode.end_picture }] : episode.decisions.slice(0, until + 1);
  return Promise.allSettled(frames.map(({ picture }) => Object.assign(new Image(), { src: picture }).decode()));
}
