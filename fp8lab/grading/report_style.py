"""How report.html looks, light, dark and on paper, and the few lines of script that sort its table."""

from __future__ import annotations

import base64
import hashlib

from fp8lab.grading.pictures import colour_css, verdict_css

STYLE = f"""
:root {{ color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --quiet: #59636e; --line: #d5dae0; --soft: #f3f5f7;
  --link: #0b5cad; --bar: #4361ee; {colour_css(dark=False)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --paper: #14181d; --quiet: #9aa6b2; --line: #323a44;
  --soft: #1d232a; --link: #79b8ff; --bar: #7f97ff; {colour_css(dark=True)} }} }}
* {{ box-sizing: border-box }}
body {{ font: 15px/1.55 system-ui, "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif;
  max-width: 72em; margin: 0 auto; padding: 1.6em 1.2em 4em; color: var(--ink); background: var(--paper) }}
h1 {{ font-size: 1.7em; margin: 0 }} h2 {{ font-size: 1.2em; margin: 2.2em 0 .2em }}
h3 {{ font-size: 1em; margin: 0; font-weight: 600 }}
p {{ margin: .2em 0 .6em }} .quiet {{ color: var(--quiet) }} a {{ color: var(--link) }}
.tiles {{ display: flex; flex-wrap: wrap; gap: .7em; margin: 1.1em 0 0; padding: 0; list-style: none }}
.tiles li {{ background: var(--soft); border-radius: 8px; padding: .5em .9em; min-width: 7.5em }}
.tiles b {{ display: block; font-size: 1.5em; line-height: 1.25; font-variant-numeric: tabular-nums }}
.tiles span {{ color: var(--quiet); font-size: .9em }}
.hists {{ display: grid; grid-template-columns: repeat(auto-fill, minmax(19em, 1fr)); gap: 1.2em 1.6em;
  align-items: end; margin-top: .8em }}
figure {{ margin: 0 }} figcaption {{ margin-bottom: .3em }} figcaption .quiet {{ font-size: .87em; display: block }}
.hist {{ width: 100%; max-width: 26em; height: auto; display: block }}
.hist .bar {{ fill: var(--bar) }} .hist .axis {{ stroke: var(--quiet); fill: none }}
.hist text {{ font-size: 10px; fill: var(--ink); text-anchor: middle }} .hist .tick {{ fill: var(--quiet) }}
.stack {{ display: block; width: 100%; height: 1.05em; border-radius: 3px; outline: 1px solid var(--line) }}
{verdict_css()}
.legend {{ list-style: none; padding: 0; margin: .4em 0 .6em; display: flex; flex-wrap: wrap; gap: .2em 1.1em;
  font-size: .9em }}
.legend i {{ display: inline-block; width: .95em; height: .95em; border-radius: 3px; margin-right: .4em;
  vertical-align: -.1em; outline: 1px solid var(--line) }}
.wide {{ overflow-x: auto }}
.alarm {{ border-left: 4px solid var(--v-error); background: var(--soft); padding: .5em .9em; margin: 1em 0 0 }}
.late {{ font-size: .8em; border: 1px solid currentColor; border-radius: 3px; padding: 0 .25em }}
table {{ border-collapse: collapse; width: 100% }}
th {{ text-align: left; font-weight: 600; color: var(--quiet); font-size: .87em; vertical-align: bottom }}
th, td {{ padding: .35em .7em .35em 0; border-bottom: 1px solid var(--line) }}
td {{ vertical-align: top; overflow-wrap: anywhere; min-width: 3em }} .sortable td:first-child {{ min-width: 9em }}
.n {{ text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; overflow-wrap: normal }}
.key {{ white-space: nowrap; font-variant-numeric: tabular-nums }} .small {{ font-size: .87em; color: var(--quiet) }}
.counts {{ margin-top: .15em }} .counts span {{ white-space: nowrap; margin-right: .9em }}
.named td:nth-child(3) {{ width: 64% }} .named td:nth-child(4) {{ width: 24% }}
.named td:first-child, .ended td:first-child {{ width: 4em }} .named .key, .ended .key {{ width: 3.5em }}
summary {{ cursor: pointer; color: var(--link); margin: .6em 0 }}
.bars td:nth-child(2) {{ width: 30% }} .bars td:nth-child(3) {{ width: 55% }}
code {{ background: var(--soft); padding: 0 .25em; border-radius: 3px; overflow-wrap: anywhere }}
th button {{ all: unset; cursor: pointer }} th button:hover, th button:focus-visible {{ text-decoration: underline }}
th[aria-sort=ascending] button::after {{ content: " ▲" }} th[aria-sort=descending] button::after {{ content: " ▼" }}
input[type=search] {{ font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line);
  border-radius: 6px; padding: .25em .6em; margin: .2em 0 .5em; width: 18em; max-width: 100% }}
@media (max-width: 42em) {{ .bars td:nth-child(2) {{ width: auto }} .bars td:nth-child(3) {{ width: 45% }} }}
@media print {{
  :root {{ color-scheme: light; --ink: #000; --paper: #fff; --quiet: #444; --line: #bbb; --soft: #f3f5f7;
    --link: #000; --bar: #4361ee; {colour_css(dark=False)} }}
  * {{ print-color-adjust: exact; -webkit-print-color-adjust: exact }}
  body {{ max-width: none; padding: 0; font-size: 10.5pt }} input[type=search] {{ display: none }}
  tr, figure, .tiles li {{ break-inside: avoid }} h2, h3 {{ break-after: avoid }}
  thead {{ display: table-header-group }}
  a {{ text-decoration: none }} .wide {{ overflow: visible }} }}
"""

SCRIPT = """
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const value = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.v === undefined ? cell.textContent : cell.dataset.v, number = Number(text);
    return text !== "" && !Number.isNaN(number) ? number : text;
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b
    : typeof a === "number" ? 1 : typeof b === "number" ? -1 : a.localeCompare(b);
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button"; button.title = table.dataset.sort;
    button.append(...head.childNodes); head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending" ||
        (!head.hasAttribute("aria-sort") && column > 0);
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map(row => [value(row, column), row]);
      rows.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
      body.append(...rows.map(pair => pair[1]));
    });
  });
  const search = document.createElement("input");
  search.type = "search"; search.placeholder = table.dataset.filter;
  search.setAttribute("aria-label", table.dataset.filter);
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const row of body.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
  });
  table.parentNode.before(search);
}
"""


def policy() -> str:
    """A content security policy under which nothing runs but SCRIPT, and nothing is loaded from anywhere."""
    digest = base64.b64encode(hashlib.sha256(SCRIPT.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"
