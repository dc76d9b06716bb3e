/** The theme: that of the system, until the user chooses another one. */

const KEY = "paretofoil-theme";
const SYSTEM = window.matchMedia("(prefers-color-scheme: dark)");

/** Return whether the theme is dark. */
export function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

/**
 * Use the theme that was chosen before, or follow the system.
 * @param {function(): void} onChange
 */
export function startTheme(onChange) {
  setTheme(stored() || system());
  SYSTEM.addEventListener("change", () => {
    if (stored()) return;
    setTheme(system());
    onChange();
  });
}

/** Switch between light and dark. */
export function toggleTheme() {
  const theme = isDark() ? "light" : "dark";
  setTheme(theme);
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Without storage the theme changes for now only.
  }
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}

const system = () => (SYSTEM.matches ? "dark" : "light");

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
