/** Wishes and results in words, as the library's sentences tell them. */

/** A number as people think of it: a cost by its size, a probability in percent. */
export function amount(objective, number) {
  const size = Math.abs(number) < 1e-9 ? 0 : objective.cost ? -number : number;
  return objective.probability ? 100 * size : size;
}

/** The inverse of `amount`. */
export function number(objective, amount) {
  const size = objective.probability ? amount / 100 : amount;
  return objective.cost ? -size : size;
}

/** Few digits, and all those before the point. */
export function short(value, digits = 4) {
  if (Math.abs(value) < 1e-9) return "0";
  const shown = Number(value.toPrecision(digits));
  return Math.abs(shown) >= 10 ** digits ? value.toFixed(0) : String(shown);
}

/** "8", "3 steps", "9.7 %": the amount alone. */
export function quantity(objective, value, digits = 3) {
  const shown = short(amount(objective, value), digits);
  if (objective.probability) return `${shown} %`;
  return objective.unit ? `${shown} ${unit(objective, shown)}` : shown;
}

/** "8 treasure", "3 steps of time", "a 9.7 % risk of death". */
export function wish(objective, value, digits = 3) {
  if (amount(objective, value) === 0) return `no ${chance(objective)}`;
  const told = quantity(objective, value, digits);
  if (objective.probability) return `${/^(8|11\b|18\b)/.test(told) ? "an" : "a"} ${told} ${chance(objective)}`;
  return objective.unit || /\d$/.test(objective.name) ? `${told} of ${objective.name}` : `${told} ${objective.name}`;
}

/** All of a command: "8 treasure and 3 steps of time". */
export function wishes(objectives, command, digits = 3) {
  const told = objectives.map((objective, i) => wish(objective, command[i], digits));
  const some = told.filter((words) => !words.startsWith("no "));
  const plain = objectives.every((objective) => !objective.cost && !objective.probability);
  if (plain && told.length - some.length > 1) return join(some.length ? [...some, "nothing else"] : ["nothing"]);
  return join(told);
}

/** Several words in a row. */
export function join(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A share in percent, never rounded to certainty. */
export function percent(share) {
  if (share >= 0.9995) return share < 1 ? "over 99.9 %" : "100 %";
  if (share > 0 && share < 0.0005) return "under 0.1 %";
  return `${Number((100 * share).toFixed(1))} %`;
}

/** "deep-sea-treasure" as a heading. */
export function title(name) {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const ARROWS = { up: "↑", down: "↓", left: "←", right: "→" };

/** A sign for an action where there is one that everybody reads. */
export function sign(action) {
  return ARROWS[action.toLowerCase()] || "";
}

/** "→ right". */
export function signed(action) {
  return sign(action) ? `${sign(action)} ${action}` : action;
}

function unit(objective, shown) {
  return shown === "1" ? objective.unit.replace(/s$/, "") : objective.unit;
}

function chance(objective) {
  return objective.probability ? `${objective.cost ? "risk" : "chance"} of ${objective.name}` : objective.name;
}
