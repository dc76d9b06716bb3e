/** Rules for the page's scripts. They use the browser's globals only, and no package. */

import js from "@eslint/js";

const BROWSER = [
  "AbortController",
  "AbortSignal",
  "Blob",
  "CSS",
  "DOMException",
  "FileReader",
  "Image",
  "ImageData",
  "Node",
  "ResizeObserver",
  "Response",
  "URL",
  "URLSearchParams",
  "atob",
  "clearInterval",
  "clearTimeout",
  "crypto",
  "document",
  "fetch",
  "getComputedStyle",
  "localStorage",
  "navigator",
  "performance",
  "sessionStorage",
  "setInterval",
  "setTimeout",
  "window",
];

export default [
  js.configs.recommended,
  {
    languageOptions: {
      ecmaVersion: 2023,
      sourceType: "module",
      globals: Object.fromEntries(BROWSER.map((name) => [name, "readonly"])),
    },
    rules: {
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-new-func": "error",
      "no-shadow": "error",
      "no-use-before-define": ["error", { functions: false, variables: false }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      eqeqeq: "error",
    },
  },
];
