/** The widget of a notebook (anywidget): a frame with the page, whose requests it passes on to Python. */

const STYLE = "display: block; width: 100%; height: min(56rem, 85vh); border: 0; border-radius: 8px; resize: vertical;";

/** @param {{model: any, el: HTMLElement}} widget */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { title: "Paretofoil", srcdoc: model.get("html"), allow: "clipboard-write" });
  frame.setAttribute("sandbox", "allow-scripts allow-downloads");
  frame.style.cssText = STYLE;

  const ask = (event) => event.source === frame.contentWindow && model.send(event.data);
  const reply = (content, [body]) => frame.contentWindow?.postMessage({ ...content, body }, "*");
  window.addEventListener("message", ask);
  model.on("msg:custom", reply);
  el.append(frame);
  return () => {
    window.removeEventListener("message", ask);
    model.off("msg:custom", reply);
  };
}

export default { render };
