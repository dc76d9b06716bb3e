/** The form that uploads an agent: the two files that `paretofoil train` and `paretofoil import` write. */

import { upload } from "./api.js";
import { button, el, errorBox } from "./dom.js";

/** @param {import("./controller.js").Controller} controller */
export function uploadCard(controller) {
  const description = fileField("agent.json", ".json");
  const weights = fileField("weights.safetensors", ".safetensors");
  const name = el("input", { type: "text", id: "file-name", placeholder: "as in the file", maxlength: 63 });
  const problem = el("div", {});
  const submit = button(
    "Upload",
    async () => {
      submit.disabled = true;
      problem.replaceChildren();
      try {
        await controller.openUploaded(await send(name.value, description.input.files[0], weights.input.files[0]));
      } catch (error) {
        problem.replaceChildren(errorBox(error));
      }
      submit.disabled = false;
    },
    { class: "primary" },
  );
  return el(
    "details",
    { class: "card own" },
    el("summary", {}, "Upload your own agent"),
    el(
      "p",
      { class: "small" },
      "The two files of an agent in Paretofoil's format. The server deletes them when it stops.",
    ),
    el("div", { class: "files" }, description.node, weights.node, nameField(name), submit),
    problem,
  );
}

async function send(name, description, weights) {
  if (!description || !weights) throw new Error("Please choose both files.");
  const document = await readJson(description);
  return upload({ name: name || document.name, description: document, weights: await base64(weights) });
}

async function readJson(file) {
  try {
    return JSON.parse(await file.text());
  } catch {
    throw new Error(`${file.name} is not JSON.`);
  }
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",")[1]);
    reader.onerror = () => reject(new Error(`${file.name} cannot be read.`));
    reader.readAsDataURL(file);
  });
}

function nameField(input) {
  return el("p", { class: "field" }, el("label", { for: input.id }, "Name"), input);
}

function fileField(label, kind) {
  const input = el("input", { type: "file", accept: kind, id: `file-${label}` });
  return { input, node: el("p", { class: "field" }, el("label", { for: `file-${label}` }, label), input) };
}
