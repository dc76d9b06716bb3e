/** An agent of one's own: its two files, as `paretofoil train` and `paretofoil import` write them. */

import { upload } from "./api.js";
import { button, el, kindly } from "./dom.js";

/** @param {import("./journey.js").Journey} journey */
export function uploadCard(journey) {
  const description = fileField("agent.json", ".json");
  const weights = fileField("weights.safetensors", ".safetensors");
  const name = el("input", { type: "text", id: "file-name", placeholder: "as in the file", maxlength: 63 });
  const trouble = el("div", {});
  const send = button(
    "Bring it",
    async () => {
      send.disabled = true;
      trouble.replaceChildren();
      try {
        await journey.welcome(await bring(name.value, description.input.files[0], weights.input.files[0]));
      } catch (error) {
        trouble.replaceChildren(kindly(error));
      }
      send.disabled = false;
    },
    { class: "primary" },
  );
  return el(
    "details",
    { class: "card own" },
    el("summary", {}, "Bring an agent of your own"),
    el(
      "p",
      { class: "small" },
      "The two files of an agent in Paretofoil's own format. They stay on this server, and are gone when it stops.",
    ),
    el("div", { class: "files" }, description.node, weights.node, named(name), send),
    trouble,
  );
}

async function bring(name, description, weights) {
  if (!description || !weights) throw new Error("Please choose both files.");
  const described = await readJson(description);
  return upload({ name: name || described.name, description: described, weights: await base64(weights) });
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
    reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
    reader.onerror = () => reject(new Error(`${file.name} could not be read.`));
    reader.readAsDataURL(file);
  });
}

function named(input) {
  return el("p", { class: "field" }, el("label", { for: input.id }, "Name"), input);
}

function fileField(label, kind) {
  const input = el("input", { type: "file", accept: kind, id: `file-${label}` });
  return { input, node: el("p", { class: "field" }, el("label", { for: `file-${label}` }, label), input) };
}
