/** Types of the server's JSON and of the page's state, for `make check-js`. The browser does not load this file. */

interface Objective {
  name: string;
  unit: string;
  cost: boolean;
  probability: boolean;
  natural_low: number | null;
  natural_high: number | null;
  /** Only whole numbers occur. */
  whole: boolean;
  /** It is a feature of the state, not a part of the command. */
  feature: boolean;
}

interface AgentSummary {
  name: string;
  title: string;
  environment: string;
  about: string;
  objectives: Objective[];
  actions: string[];
  front_size: number;
  early: boolean;
  uploaded: boolean;
  siblings: string[];
  /** Null for a policy without an environment. */
  picture: string | null;
}

interface Region {
  low: number[];
  high: number[];
  simplex?: boolean;
}

interface Agent extends AgentSummary {
  phrases: string[];
  space: Region & { kind: "box" | "simplex"; scale: number[] };
  /**
   * The numbers that a visitor sets, for a policy with free features of its state: its command (the first
   * `num_commands`), then its observation. They are what `command` is elsewhere.
   */
  observation: { names: string[]; example: number[]; num_commands: number } | null;
  front: number[][];
  front_texts: string[];
  stochastic: boolean;
  white_box: boolean;
  atlas: boolean;
  /** The objectives of the environment, in whose terms outcomes are. */
  returns: Objective[];
  /** Cells that outcomes can name, with their places on the picture, in shares of its width and height. */
  cells: Array<{ cell: string; place: [number, number] }>;
  /** The dimensions of continuous actions; null if actions are discrete. `actions` are then more and less of each. */
  amounts: Array<{ name: string; unit: string; phrase: string; low: number; high: number }> | null;
  guide: { rules: string; command: number[]; step: number; best: string[] } | null;
}

interface Decision {
  step: number;
  state: number[];
  command: number[];
  valid_actions: number[];
  /** -1 if actions are continuous. */
  action: number;
  amounts: number[] | null;
  collected: number[];
  probabilities: number[];
  values: number[] | null;
  command_text: string;
  picture: string;
  place: [number, number] | null;
}

interface Episode {
  command: number[];
  decisions: Decision[];
  achieved: number[];
  terminated?: boolean;
  command_text: string;
  achieved_text: string;
  delivered: boolean | null;
  end_picture: string;
  end_place: [number, number] | null;
}

interface Search {
  name: string;
  about: string;
  needs: string;
  proves: boolean;
}

/** How a question is asked. */
interface Settings {
  search: string;
  seconds: number | null;
  queries: number | null;
  options: Record<string, any>;
}

/** An option of a question (GET /api/options). */
interface OptionInfo {
  name: string;
  kind: "choice" | "flag" | "whole" | "number" | "objectives" | "ranges";
  default: any;
  help: string;
  choices: string[];
  minimum: number | null;
  maximum: number | null;
  optional: boolean;
}

/** A job of the server as the page sees it. */
interface Task<Result> {
  status: "idle" | "waiting" | "done" | "failed" | "cancelled";
  progress: number | null;
  result: Result | null;
  error: Error | null;
  partial?: any[];
}

interface Rollout {
  kind: "answer" | "attainable" | "probe";
  status: "waiting" | "done" | "failed";
  rest?: Episode;
  issued?: number[];
  error?: Error;
}

/** What the agent did not do: an action by its number, or something else. */
type Foil = number | OtherFoil;
/** An outcome of the whole episode, or limits of the amounts of continuous actions, as the command line takes them. */
type OtherFoil = { outcome?: string; share?: number; amount?: string };

/** A part of an outcome, see `outcome.js`. */
interface Clause {
  kind: "limit" | "ends" | "takes" | "visits" | "other";
  name?: string;
  sign?: string;
  number?: number;
  never?: boolean;
  value?: string;
  text?: string;
}

interface State {
  view: "environments" | "goals" | "episode";
  agents: AgentSummary[];
  searches: Search[];
  agent: Agent | null;
  command: number[] | null;
  seed: number;
  episode: Episode | null;
  step: number;
  arrived: boolean;
  playing: boolean;
  foil: Foil | null;
  /** The outcome in the form, as text; null if the form is closed. */
  draft: string | null;
  settings: Settings;
  optionInfos: OptionInfo[];
  answer: Task<AnswerResult>;
  precomputed: Record<number, AnswerResult>;
  bySearch: Record<string, AnswerResult>;
  rollout: Rollout | null;
  rolloutAt: number;
  explore: string | null;
  axes: [number, number] | null;
  zoom: number | null;
  probe: number[] | null;
  folded: any;
  flips: Task<any>;
  influence: Task<any>;
  comparison: { agent?: string; search?: string } | null;
  problem: { error: any; retry: () => void } | null;
  busy: boolean;
  dark: boolean;
}

interface Counterfactual {
  command: number[];
  distance: number;
  margin: number;
  probabilities: number[];
  values: number[] | null;
}

interface Consequence {
  achieved: number[];
  steps: number;
}

interface Attainable {
  tried: number;
  command: number[] | null;
  asked: number[] | null;
  missed: number | null;
}

/** The library's answer (schema paretofoil/answer/2), as far as the page reads it. */
interface Answer {
  status: "found" | "proven closest" | "proven infeasible" | "not found";
  question: {
    command: number[];
    chosen: number;
    /** null if the foil is an outcome. */
    foil: number | null;
    outcome: string | null;
    actions: string[];
    collected?: number[];
    /** The limits of a foil on continuous actions. */
    amounts: Array<{ dimension: number; amount: number; lower: boolean }>;
    norm: string;
    probabilities: number[];
    low: number[];
    high: number[];
    step: number | null;
    kept: number[];
    held: number[];
    free: number[];
  };
  search: { name: string; stop: string; queries: Record<string, number>; seconds: number };
  quoted: Counterfactual | null;
  proof: { status: string; lower: number; boxes: number; assumptions: string } | null;
  proven_range: Region | null;
  rollouts: { quoted: Consequence | null; original: Consequence | null; attainable: Attainable | null } | null;
  alternatives: Answer[];
  other_norms?: Answer[];
  sentence: string;
  lower_bound: number;
}

/** A question of the flip map and its answer. */
interface Cell {
  step: number;
  foil: number;
  status: Answer["status"];
  distance: number | null;
  sentence: string;
}

interface AnswerResult {
  answer: Answer;
  sentence: string;
  paragraph?: string;
  /** How many of several runs meet the outcome, where chance plays a part. */
  runs?: string;
  python?: string;
}

interface Window {
  /** For tests and benchmarks. */
  paretofoil: { store?: any; controller?: any; lastRedraw: number | null; lastWhole?: number | null };
}

/** The library's influence at a step, as far as the page reads it. */
interface InfluenceStep {
  step: number;
  chosen: number;
  shares: Array<{ action: number; lower: number; upper: number; sampled: number }>;
  samples: number;
  proven: boolean;
  inert: boolean;
  changed: [number, number];
  alone: Array<{ objective: number; down: number | null; up: number | null }> | null;
}

/** The library's influence on continuous actions at a step. */
interface AmountStep {
  step: number;
  sentence: string;
  ranges: Array<{ chosen: number; least: number; most: number; lowest: number; highest: number }>;
}

interface WatchedEpisode {
  agent: string;
  command: number[];
  seed: number;
  until: number | null;
  explained: Array<{ step: number; foil: string }>;
}

interface StudyScreen {
  name: string;
  kind: "predict" | "choose" | "steer" | "check" | "end";
  text: string | null;
  options: string[];
  episodes: WatchedEpisode[];
  command: number[] | null;
  foil: string | null;
  ratings: any[];
}
