/** What a user study stores in this tab only, for reloads: the participant's random number and the clock. */

const KEY = "paretofoil-participant";
const INTRODUCED = "paretofoil-introduced";
const CLOCK = "paretofoil-clock";
const fallback = new Map(); // for browsers without storage

/** Return the participant's random number, or null. */
export const storedKey = () => read(KEY);

/** Create a random number for a participant. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return storeKey([...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
}

/** Store the participant's random number. */
export function storeKey(key) {
  write(KEY, key);
  return key;
}

/** Return whether the participant has read the introduction. */
export const isIntroduced = () => read(INTRODUCED) === storedKey();

/** Store that the participant has read the introduction. */
export const setIntroduced = () => write(INTRODUCED, storedKey());

/**
 * Start the clock of a screen, once all of it is visible. `away` is the time during which the page was hidden.
 * The clock continues after a reload; the time of loading does not count.
 * @param {string} screen
 */
export function startClock(screen) {
  const before = storedTimes(screen);
  const start = performance.now();
  let hidden = document.hidden ? start : null,
    away = 0;

  function times() {
    const now = performance.now();
    const total = away + (hidden === null ? 0 : now - hidden);
    return {
      seconds: before.seconds + (now - start) / 1000,
      away: before.away + total / 1000,
      loads: before.loads + 1,
    };
  }

  function onVisibilityChange() {
    const now = performance.now();
    if (document.hidden) hidden ??= now;
    else if (hidden !== null) [away, hidden] = [away + now - hidden, null];
  }

  const store = () => write(CLOCK, JSON.stringify({ screen, ...times() }));
  document.addEventListener("visibilitychange", onVisibilityChange);
  window.addEventListener("pagehide", store);
  store();
  return {
    times,
    stop() {
      document.removeEventListener("visibilitychange", onVisibilityChange);
      window.removeEventListener("pagehide", store);
    },
  };
}

function storedTimes(screen) {
  const stored = JSON.parse(read(CLOCK) || "{}");
  return stored.screen === screen ? stored : { seconds: 0, away: 0, loads: 0 };
}

function read(name) {
  try {
    return sessionStorage.getItem(name);
  } catch {
    return fallback.get(name) ?? null;
  }
}

function write(name, value) {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    fallback.set(name, value);
  }
}
