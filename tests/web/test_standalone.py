"""An episode as one file: nothing in it runs that is not the page's, and nothing is fetched."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import paretofoil as pf
from paretofoil.web.app import page_folder
from paretofoil.web.standalone import PICTURE, bundle_modules, page_with, save_page


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a short episode."""
    path = tmp_path_factory.mktemp("saved") / "episode.html"
    flips = pf.explain_episode(pf.load_agent("deep-sea-treasure"), (8, -8), steps=[5, 6], search="nearest-front")
    save_page(path, "deep-sea-treasure", flips, seed=0, search="nearest-front", report=lambda done, total: None)
    return path.read_text()


def data_of(page: str) -> dict[str, Any]:
    [text] = re.findall(r'<script type="application/json" id="episode">(.*?)</script>', page, re.DOTALL)
    return dict(json.loads(text))


def script_of(page: str) -> str:
    [script] = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    return str(script)


def find(page: str, path: str, **fields: Any) -> list[Any]:
    entries = [entry for entry in data_of(page)["answers"] if entry["path"] == path]
    return [entry["result"] for entry in entries if fields.items() <= entry["body"].items()]


def test_every_question_of_the_moments_is_answered_in_the_file(saved: str) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    for time in (5, 6):
        decision = pf.rollout(agent, (8, -8))[time]
        for foil in set(decision.valid_actions) - {decision.action}:
            [job] = find(saved, "/api/answers", step=time, foil=agent.actions[foil])
            expected = pf.explain(agent, decision, foil=foil, search="nearest-front")
            assert job["state"] == "done"
            assert job["result"]["sentence"] == str(expected)
            if expected.command is not None:
                assert find(saved, "/api/consequences", step=time, issued=expected.command.tolist())
    assert find(saved, "/api/answers", step=4) == []
    assert len(find(saved, "/api/folded")) == 2


def test_a_saved_answer_is_not_given_to_another_question(saved: str) -> None:
    bodies = [entry["body"] for entry in data_of(saved)["answers"] if entry["path"] == "/api/answers"]
    plain = {"search": "auto", "options": {}}
    for body in bodies:
        assert plain.items() <= body.items()
        assert (body["seconds"], body["queries"]) == (None, None)


def test_a_picture_stands_in_the_file_once(saved: str) -> None:
    data = data_of(saved)
    assert len(set(data["pictures"])) == len(data["pictures"])
    assert all(picture.startswith("data:image/png;base64,") for picture in data["pictures"])
    [episode] = find(saved, "/api/episodes")
    shown = [decision["picture"] for decision in episode["decisions"]] + [episode["end_picture"]]
    assert all(int(name.removeprefix(PICTURE)) < len(data["pictures"]) for name in shown)
    assert "/api/pictures" not in json.dumps(data)


def test_only_the_pages_own_script_may_run_and_nothing_is_fetched(saved: str) -> None:
    digest = base64.b64encode(hashlib.sha256(script_of(saved).encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'" in saved
    assert not re.search(r'(src|href)="(?!data:|#)', saved)
    assert "http://" not in saved.replace("http://www.w3.org/", "")


def test_names_of_strangers_stay_text(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><!--"
    page = page_with(page_folder(), json.dumps({"pictures": [], "answers": [{"result": evil}]}), "")
    assert evil not in page
    assert data_of(page)["answers"][0]["result"] == evil
    assert page.count("<script") == 2


def write(folder: Path, **modules: str) -> Path:
    for name, source in modules.items():
        (folder / f"{name}.js").write_text(source)
    return folder


ONE = """
function own() { return 1; }
export const first = () => own();
"""
TWO = """
import { first } from "./one.js";
function own() { return 2; }
export async function second() { return first() + own(); }
"""
MAIN = """
import { first as start } from "./one.js";
import {
  second,
} from "./two.js";
second().then((sum) => console.log(start(), sum));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_names_of_different_modules_never_meet(tmp_path: Path) -> None:
    script = bundle_modules(write(tmp_path, one=ONE, two=TWO, main=MAIN), "main")
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "3"]


@pytest.mark.parametrize(
    "source",
    [
        'import x from "./one.js";',
        'import * as x from "./one.js";',
        "export default 1;",
        'export { a } from "./one.js";',
    ],
)
def test_a_module_that_cannot_be_bundled_is_refused(tmp_path: Path, source: str) -> None:
    write(tmp_path, main=source, one="")
    with pytest.raises(pf.InvalidInput, match=r"expected only named imports and exported declarations in main\.js"):
        bundle_modules(tmp_path, "main")


def test_modules_that_need_each_other_are_refused(tmp_path: Path) -> None:
    write(tmp_path, main='import { a } from "./one.js";\n', one='import { b } from "./main.js";\nexport const a = 1;\n')
    with pytest.raises(pf.InvalidInput, match="circular imports, got main -> one -> main"):
        bundle_modules(tmp_path, "main")


def test_the_pages_own_modules_are_all_in_the_file(saved: str) -> None:
    script = script_of(saved)
    for path in (page_folder() / "js").glob("*.js"):
        elsewhere = path.stem.startswith("study_") or path.stem == "notebook_widget"  # pages of their own
        assert (f"const module_{path.stem} = " in script) != elsewhere


def test_an_episode_that_is_too_long_to_save_is_refused(tmp_path: Path) -> None:
    flips = pf.explain_episode(pf.load_agent("branch-path"), (1, 1), steps=[0], search="nearest-front")
    long = replace(flips, steps=tuple(range(201)), answers=flips.answers[:1] * 201)
    with pytest.raises(pf.InvalidInput, match="expected at most 200 steps to save"):
        save_page(tmp_path / "x.html", "branch-path", long, seed=0, report=lambda done, total: None)


def test_the_verb_saves_a_page(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    arguments = ["episode", "branch-path", "--command", "1,1", "--steps", "0", "--search", "nearest-front"]
    command = [sys.executable, "-m", "paretofoil", *arguments, "--html", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Wrote the page to" in done.stdout
    assert data_of(path.read_text())["answers"]
