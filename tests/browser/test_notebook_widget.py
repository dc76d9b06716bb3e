"""The page in a notebook: a real kernel, the saved widget in a real Chromium, and messages between them."""

import asyncio
import base64
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from visit import Visit

nbclient = pytest.importorskip("nbclient", reason="needs the dev extra")
nbformat = pytest.importorskip("nbformat", reason="needs the dev extra")
pytest.importorskip("anywidget", reason="needs the extra notebook")

pytestmark = pytest.mark.long

CELLS = (
    """
import numpy as np
import paretofoil as pf
agent = pf.load_agent("deep-sea-treasure")
answer = pf.explain(agent, pf.rollout(agent, (8, -8))[5], foil="down")
print(answer)
answer.explore()
""",
    """
shipped = pf.load_agent("branch-path")
def policy(states, commands):  # a function that exists in this notebook only
    return shipped.policy.log_probs(states, commands)
pf.Agent("mine", policy, "branch-path", shipped.space, shipped.front).explore()
""",
)
SHOW = """async ([esm, html]) => {
  const listeners = new Set();
  const model = {
    get: () => html,
    on: (name, run) => listeners.add(run),
    off: (name, run) => listeners.delete(run),
    send: async (content) => {
      const [reply, body] = await window.askPython(content);
      const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
      for (const run of listeners) run(reply, [new DataView(bytes.buffer)]);
    },
  };
  const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  widget.render({ model, el: document.body });
}"""


class Kernel:
    """A notebook that is executed, and its kernel, which goes on, in an event loop beside that of Playwright."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in CELLS])
        self._client = nbclient.NotebookClient(self.notebook, kernel_name="python3", timeout=120)
        self._setup = self._client.async_setup_kernel()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    async def execute(self) -> None:
        await self._setup.__aenter__()
        for index, cell in enumerate(self.notebook.cells):
            await self._client.async_execute_cell(cell, index)
        self._client.set_widgets_metadata()

    async def ask(self, comm: str, content: dict[str, Any]) -> list[Any]:
        """Send a message of a widget, and return the reply to it."""
        kernel = self._client.kc
        data = {"comm_id": comm, "data": {"method": "custom", "content": content}}
        kernel.shell_channel.send(kernel.session.msg("comm_msg", data))
        while True:
            message = await kernel.get_iopub_msg(timeout=60)
            reply = message["content"].get("data", {})
            if message["msg_type"] == "comm_msg" and reply.get("content", {}).get("id") == content["id"]:
                return [reply["content"], base64.b64encode(message["buffers"][0]).decode()]

    def widget(self, cell: int) -> tuple[str, dict[str, Any]]:
        """Return the id and the saved state of the widget that a cell displays."""
        [view] = [out.data["application/vnd.jupyter.widget-view+json"] for out in self.notebook.cells[cell].outputs
                  if out.output_type == "execute_result"]  # fmt: skip
        saved = self.notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
        return view["model_id"], saved[view["model_id"]]["state"]

    def end(self) -> None:
        self.run(self._setup.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    kernel.run(kernel.execute())
    yield kernel
    kernel.end()


def show(visit: Visit, kernel: Kernel, cell: int) -> Any:
    """Return the frame of the widget of a cell, in a page that stands in for Jupyter."""
    comm, state = kernel.widget(cell)
    page = visit.blank()
    page.expose_function("askPython", lambda content: kernel.run(kernel.ask(comm, content)))
    page.evaluate(SHOW, [state["_esm"], state["html"]])
    return page.frame_locator("iframe[title=Paretofoil]")


def test_an_answer_is_explored_in_a_notebook_without_a_server(visit: Visit, kernel: Kernel) -> None:
    page = show(visit, kernel, 0)
    sentence = page.locator(".answer .sentence")
    sentence.wait_for()
    [printed] = [out.text for out in kernel.notebook.cells[0].outputs if out.output_type == "stream"]
    assert sentence.inner_text() == printed.strip()
    page.locator(".answer .show").first.click()
    page.locator(".verdict").get_by_text("It went down and got 5 treasure in 7 steps").wait_for()
    assert page.locator(".stage .scene").evaluate("(picture) => picture.decode().then(() => picture.naturalWidth)")
    page.get_by_role("button", name="Ask for this instead").click()
    page.get_by_role("heading", name="You asked for 8 treasure in 7.6 steps").wait_for()
    assert page.get_by_role("button", name="Copy link").count() == 0
    page.get_by_role("button", name="Ask for something else").click()
    page.get_by_role("button", name="Ask for 2 treasure in 3 steps", exact=True).click()
    page.get_by_role("heading", name="You asked for 2 treasure in 3 steps").wait_for()
    assert [url for url in visit.requests if not url.startswith(("data:", "blob:", "about:"))] == []


def test_an_agent_that_exists_in_the_notebook_only_is_explored(visit: Visit, kernel: Kernel) -> None:
    page = show(visit, kernel, 1)
    page.locator(".stage").wait_for()
    page.locator(".why:visible").first.click()
    page.locator(".answer .sentence").wait_for()
    page.get_by_text("Details").click()
    page.get_by_text("# `agent` is the agent that you explore").wait_for()
