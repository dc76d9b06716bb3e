/** What a step needs from the server: agents, episodes, and as many explanations as the condition shows. */

import { readAgent, rollOut, work } from "./api.js";

/** Seconds for the influence at one moment. */
const SECONDS = 1;

/**
 * @param {Object} step
 * @param {string[]} shows
 * @returns {Promise<Object[]>} for each film its agent, episode, answers and moments of influence
 */
export function gather(step, shows) {
  return Promise.all(step.films.map((film) => gatherFilm(film, shows)));
}

async function gatherFilm(film, shows) {
  const [agent, episode] = await Promise.all([readAgent(film.agent), rollOut(film.agent, film.command, film.seed)]);
  const asked = { agent: film.agent, command: film.command, seed: film.seed };
  const explained = shows.includes("counterfactuals") ? film.explained : [];
  const times = shows.includes("influence") ? timesOf(film, episode) : [];
  const pictures = preload(episode, film.until);
  const [answers, influence] = await Promise.all([
    Promise.all(explained.map((moment) => work("answers", { ...asked, ...moment }))),
    times.length ? work("influence", { ...asked, times, seconds: SECONDS }) : null,
  ]);
  await pictures;
  return { film, agent, episode, explained, answers, moments: influence ? influence.influence.moments : [] };
}

/** The moments that are watched; not the one that is asked about. */
function timesOf({ until }, episode) {
  return Array.from({ length: until ?? episode.decisions.length }, (_, time) => time);
}

/** A picture that does not come is seen to be missing; it does not stop the study. */
function preload(episode, until) {
  const seen =
    until === null ? [...episode.decisions, { picture: episode.end_picture }] : episode.decisions.slice(0, until + 1);
  return Promise.allSettled(seen.map(({ picture }) => Object.assign(new Image(), { src: picture }).decode()));
}
