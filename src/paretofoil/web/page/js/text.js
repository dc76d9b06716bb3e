/** Commands and returns as text, in the words of the library's sentences. */

/** Return a number as people think of it: costs are positive, probabilities in percent. */
export function amount(objective, value) {
  const size = Math.abs(value) < 1e-9 ? 0 : objective.cost ? -value : value;
  return objective.probability ? 100 * size : size;
}

/** Return the inverse of `amount`. */
export function fromAmount(objective, shown) {
  const size = objective.probability ? shown / 100 : shown;
  return objective.cost ? -size : size;
}

/** Return a number with few digits, but all digits before the decimal point. */
export function short(value, digits = 4) {
  if (Math.abs(value) < 1e-9) return "0";
  const rounded = Number(value.toPrecision(digits));
  return Math.abs(rounded) >= 10 ** digits ? value.toFixed(0) : String(rounded);
}

/** Return the amount with its unit: "8", "3 steps", "9.7 %", "1 step over budget" of a cost that is never negative. */
export function quantity(objective, value, digits = 3) {
  const number = amount(objective, value);
  if (objective.cost && number < 0 && (objective.natural_high ?? 0) <= 0)
    return `${quantity(objective, -value, digits)} over budget`;
  if (objective.probability) return `${digits > 3 ? short(number, digits) : tenths(number)} %`;
  const shown = short(number, digits);
  return objective.unit ? `${shown} ${unit(objective, shown)}` : shown;
}

/** Return a number with one decimal, or more where that would round to 0 or 100. */
function tenths(number) {
  const rounded = Number(number.toFixed(1));
  return rounded === 0 || rounded === 100 ? short(number) : String(rounded);
}

/** Return one objective of a command: "8 treasure", "3 steps", "a 9.7 % risk of death". */
export function quantityText(objective, value, digits = 3) {
  if (amount(objective, value) === 0) return `no ${isTime(objective) ? objective.unit : chance(objective)}`;
  const text = quantity(objective, value, digits);
  if (objective.probability) return `${/^(8|11\b|18\b)/.test(text) ? "an" : "a"} ${text} ${chance(objective)}`;
  if (isHorizon(objective)) return `a horizon of ${text}`;
  if (isTime(objective)) return text;
  return objective.unit || /\d$/.test(objective.name) ? `${text} of ${objective.name}` : `${text} ${objective.name}`;
}

/** Return a whole command: "8 treasure in 3 steps", "0.8 A, 1 D and nothing else". */
export function commandText(objectives, command, digits = 3) {
  const pairs = objectives.map((objective, i) => [objective, quantityText(objective, command[i], digits)]);
  const isDuration = ([objective, text]) => isTime(objective) && /^\d/.test(text) && !objectives.some(isHorizon);
  const duration = pairs.filter(isDuration).map(([, text]) => text);
  let others = pairs.filter((pair) => !isDuration(pair)).map(([, text]) => text);
  const some = others.filter((text) => !text.startsWith("no "));
  if (others.length - some.length > 1 && !objectives.some((objective) => objective.cost || objective.probability))
    others = some.length ? [...some, "nothing else"] : ["nothing"];
  return [join(others), ...duration].filter(Boolean).join(" in ");
}

/** Return "a, b and c". */
export function join(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Return what a question changes: the command, the state of a policy with free features, or both. */
export function whatChanges(agent) {
  if (!agent.observation) return "command";
  return agent.observation.num_commands ? "command and state" : "state";
}

/** Return the features of a state: "pole angle 0.03 rad, pole velocity 0.1 rad/s". */
export const featuresText = (objectives, values) =>
  objectives.map((objective, i) => `${objective.name} ${quantity(objective, values[i])}`).join(", ");

/** Return a share in percent, never rounded to certainty. */
export function percent(share) {
  if (share >= 0.9995) return share < 1 ? "over 99.9 %" : "100 %";
  if (share > 0 && share < 0.0005) return "under 0.1 %";
  return `${Number((100 * share).toFixed(1))} %`;
}

/** Return "deep-sea-treasure" as a heading. */
export function title(name) {
  const words = name.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const ARROWS = { up: "↑", down: "↓", left: "←", right: "→" };

/** Return the arrow of an action, or "" if it has none. */
export function sign(action) {
  return ARROWS[action.toLowerCase()] || "";
}

/** Return a short mark of an action: its arrow, or its first letter; a sign for more and less of an amount. */
export const badge = (action) => sign(action) || { more: "+", less: "−" }[action.split(" ")[0]] || action.charAt(0);

/** Return "→ right". */
export function signed(action) {
  return sign(action) ? `${sign(action)} ${action}` : action;
}

const isTime = (objective) => objective.name === "time" && Boolean(objective.unit);
const isHorizon = (objective) => objective.name === "horizon" && Boolean(objective.unit);

function unit(objective, shown) {
  return shown === "1" ? objective.unit.replace(/s$/, "") : objective.unit;
}

function chance(objective) {
  return objective.probability ? `${objective.cost ? "risk" : "chance"} of ${objective.name}` : objective.name;
}

const PRESENT = { gone: "goes", done: "does" };
const PAST = { gone: "went", done: "did" };

const presentVerb = (name) => (verb) =>
  PRESENT[verb] ?? (verb === `${name}d` ? `${name}s` : verb.replace(/(s|x|z|ch|sh|at)ed$/, "$1es").replace(/ed$/, "s"));
const pastVerb = () => (verb) => PAST[verb] ?? verb;

/** Return "goes right", "turns left", "does nothing", from the phrase of an action ("gone right"). */
export const present = (agent, action) => conjugated(agent, action, presentVerb, "chooses");

/** Return what the agent does at a decision: "goes right", "releases 67.6 m³". */
export const doing = (agent, decision) =>
  decision.amounts ? amountsText(agent, decision.amounts, presentVerb, "chooses") : present(agent, decision.action);

/** Return what the agent did at a decision: "went right", "released 67.6 m³". */
export const did = (agent, decision) =>
  decision.amounts
    ? amountsText(agent, decision.amounts, pastVerb, "chose")
    : conjugated(agent, decision.action, pastVerb, "chose");

function conjugated(agent, action, change, otherwise) {
  const phrase = agent.phrases?.[action] || "";
  const [verb, ...rest] = phrase.split(" ");
  const known = verb in PRESENT || /ed$/.test(verb);
  const name = agent.actions[action];
  return known ? [change(name)(verb), ...rest].join(" ") : `${otherwise} “${name}”`;
}

function amountsText(agent, amounts, change, otherwise) {
  const parts = agent.amounts.map(({ name, phrase, unit: of }, i) => {
    const text = `${short(amounts[i], 3)} ${of}`.trim();
    return /ed$/.test(phrase) ? `${change(name)(phrase)} ${text}` : `${otherwise} ${text} of ${name}`;
  });
  return join(parts);
}

/** Return whether an action is a move in the direction of its arrow. */
export function isMove(agent, action) {
  return Boolean(sign(agent.actions[action])) && /^gone /.test(agent.phrases?.[action] || "gone ");
}

/**
 * Return a text in which no number has more than three significant digits. The exact numbers are in the details.
 * "3.39 protein instead of 3.393" would then name the same number twice, and becomes "slightly more protein (3.39)".
 */
export function plainNumbers(text) {
  return text
    .replace(/(\d[\d,]*\.?\d*) ([^,()]*?) instead of (\d[\d,]*\.?\d*)(?=,| |\))/g, (whole, to, name, from) =>
      threeDigits(to) === threeDigits(from) && to !== from
        ? `slightly ${toNumber(to) > toNumber(from) ? "more" : "less"} ${name} (${threeDigits(to)})`
        : whole,
    )
    .replace(/\d[\d,]*(\.\d+)?/g, threeDigits);
}

const toNumber = (text) => Number(text.replaceAll(",", ""));

function threeDigits(text) {
  const tail = /[,.]$/.test(text) ? text.at(-1) : "";
  const digits = tail ? text.slice(0, -1) : text;
  const significant = digits.replaceAll(",", "").replace(".", "").replace(/^0+/, "");
  if (significant.length <= 3 || !digits.includes(".")) return text;
  return `${short(toNumber(digits), 3)}${tail}`;
}
