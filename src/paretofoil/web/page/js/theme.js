/** Light or dark: as the system has it, until one turns it here. */

const KEY = "paretofoil-theme";
const SYSTEM = window.matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

/**
 * Follow the system, or what was chosen here before.
 * @param {function(): void} onTurn
 */
export function startTheme(onTurn) {
  wear(kept() || system());
  SYSTEM.addEventListener("change", () => {
    if (kept()) return;
    wear(system());
    onTurn();
  });
}

/** From light to dark, or back. */
export function turnTheme() {
  const theme = isDark() ? "light" : "dark";
  wear(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // A browser that keeps nothing still turns the page for now.
  }
}

function wear(theme) {
  document.documentElement.dataset.theme = theme;
}

const system = () => (SYSTEM.matches ? "dark" : "light");

function kept() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
