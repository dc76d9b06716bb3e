/** What a study remembers in this tab alone, so that a reload goes on where one was: a random number, and the clock. */

const KEY = "paretofoil-participant";
const CLOCK = "paretofoil-clock";
const shortly = new Map(); // for browsers that keep nothing

/** The participant's random number, if there is one. */
export const keptKey = () => read(KEY);

/** A random number of one's own. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  write(KEY, [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  return keptKey();
}

/**
 * A clock for a step. It starts when all of the step can be seen; `away` is the time with the page out of sight.
 * What a reload interrupts is counted on; the time that loading takes is not.
 * @param {string} step
 */
export function startClock(step) {
  const before = keptTimes(step);
  let begun = performance.now(),
    hidden = document.hidden ? begun : null,
    away = 0;

  function times() {
    const now = performance.now();
    const gone = away + (hidden === null ? 0 : now - hidden);
    return { seconds: before.seconds + (now - begun) / 1000, away: before.away + gone / 1000, loads: before.loads + 1 };
  }

  function look() {
    const now = performance.now();
    if (document.hidden) hidden ??= now;
    else if (hidden !== null) [away, hidden] = [away + now - hidden, null];
  }

  const keep = () => write(CLOCK, JSON.stringify({ step, ...times() }));
  document.addEventListener("visibilitychange", look);
  window.addEventListener("pagehide", keep);
  keep();
  return {
    times,
    stop() {
      document.removeEventListener("visibilitychange", look);
      window.removeEventListener("pagehide", keep);
    },
  };
}

function keptTimes(step) {
  const kept = JSON.parse(read(CLOCK) || "{}");
  return kept.step === step ? kept : { seconds: 0, away: 0, loads: 0 };
}

function read(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return shortly.get(name) ?? null;
  }
}

function write(name, value) {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    shortly.set(name, value);
  }
}
