"""The look of pages: one style sheet for light, dark and paper, and for wide and narrow screens."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --ink: #1d2328; --quiet: #59636b; --paper: #fdfdfb; --card: #f4f4ef; --rule:
  #dddcd5;
  --tick: #9aa0a4; --accent: #2b5c88; --warn: #8c3b12; --warn-ground: #fbeee4; --prior: #c9c4b8; --c0: #33689c;
  --c1: #cf4458; --c2: #228833; --c3: #a8901a; --c4: #2a93b8; --c5: #aa3377; --c6: #7d7d7d; --c7: #bf6a18;
  --c8: #664488; --c9: #6d9159; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7e9ea; --quiet: #a3acb3; --paper: #14181b; --card: #1d2327;
  --rule: #343c42; --tick: #6c767d; --accent: #8fc0ea; --warn: #ffb38a; --warn-ground: #35231a; --prior: #5d5a52;
  --c0: #7db3e3; --c1: #ff8d9c; --c2: #67c479; --c3: #e0cb62; --c4: #7fd6f2; --c5: #e08abc; --c6: #b5b5b5;
  --c7: #f0a860; --c8: #b79ad6; --c9: #b0d09e; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.6 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
main, header.top, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header.top { padding-top: 2.6rem; } footer { padding-top: 2rem; padding-bottom: 4rem; }
h1 { font-size: 1.85rem; line-height: 1.2; margin: 0 0 .5rem; letter-spacing: -.012em; }
h2 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .4rem; letter-spacing: -.008em; }
h3 { font-size: 1.12rem; margin: 2.2rem 0 .5rem; } h4 { font-size: .95rem; margin: 0 0 .35rem; }
h1, h2, h3, h4, dd, td.words, th.words, p, code, figcaption, a, li { overflow-wrap: anywhere; }
p { margin: .5rem 0; max-width: 44rem; } a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible { outline: 2px solid var(--accent);
  outline-offset: 2px; }
.quiet, figcaption { color: var(--quiet); font-size: .92rem; } .over { color: var(--quiet); font-size: .82rem;
  letter-spacing: .06em; text-transform: uppercase; margin: 0 0 .35rem; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space:
  nowrap; }
.skip { position: absolute; left: -999rem; } .skip:focus { left: 1rem; top: 1rem; background: var(--paper); }
article { border-top: 1px solid var(--rule); margin-top: 3.2rem; padding-top: 2.2rem; }
article.alone { border: 0; margin: 0; padding: 0; }
code { font: .87em/1.5 ui-monospace, "SF Mono", Menlo, Consolas, monospace; background: var(--card);
  border-radius: .25rem; padding: .08rem .3rem; }
pre { background: var(--card); border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto; max-width: 52rem; }
pre code { background: none; padding: 0; overflow-wrap: normal; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1.2rem; margin: .6rem 0; }
dt { color: var(--quiet); } dd { margin: 0; max-width: 46rem; }
.keys { display: grid; grid-template-columns: repeat(auto-fit, minmax(13rem, 1fr)); gap: 1px; background:
  var(--rule);
  border: 1px solid var(--rule); border-radius: .6rem; overflow: hidden; margin: 1.3rem 0 .6rem; }
.keys > div { background: var(--paper); padding: .85rem 1.05rem; }
.keys .over { margin: 0 0 .15rem; } .keys strong { font-size: 1.22rem; font-weight: 600; line-height: 1.3;
  display: block;
  font-variant-numeric: tabular-nums; } .keys .quiet { font-size: .86rem; }
.officer { border-left: 4px solid var(--accent); background: var(--card); border-radius: 0 .5rem .5rem 0;
  padding: .9rem 1.2rem; margin: 1rem 0; max-width: 50rem; } .officer p { font-size: 1.06rem; margin: 0 0 .5rem; }
.officer p + p { font-size: .92rem; color: var(--quiet); margin-bottom: 0; }
.beliefs { display: grid; grid-template-columns: max-content 1fr max-content; gap: .35rem .8rem; align-items:
  center;
  margin: .7rem 0; font-size: .9rem; font-variant-numeric: tabular-nums; }
.bar { background: var(--rule); border-radius: .2rem; height: .7rem; overflow: hidden; display: block; }
.bar i { display: block; height: 100%; background: var(--c0); } .bar i.before { background: var(--tick); }
.warning { background: var(--warn-ground); color: var(--warn); border-radius: .5rem; padding: .7rem 1rem;
  max-width: 50rem;
  margin: .8rem 0; font-weight: 500; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(24rem, 100%), 1fr)); gap: 1.6rem
  2.2rem;
  align-items: start; margin: .8rem 0; }
.split { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 1.2rem 2.6rem;
  align-items: start; }
figure { margin: 0; min-width: 0; } figure.wide { grid-column: 1 / -1; }
.chart { overflow-x: auto; padding: .15rem 0; } .chart svg { display: block; width: 100%; height: auto; max-width:
  27rem; }
figure.wide .chart svg { width: auto; max-width: none; }
.chart text { font-family: system-ui, -apple-system, "Segoe UI", Arial, sans-serif !important; }
figcaption { margin-top: .3rem; max-width: 40rem; } details { margin: .45rem 0; }
summary { cursor: pointer; color: var(--accent); font-size: .92rem; width: max-content; max-width: 100%; }
.scroll { overflow-x: auto; max-height: 32rem; overflow-y: auto; margin: .5rem 0; }
nav.index .scroll { max-height: none; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--quiet); font-size: .86rem; padding-bottom: .3rem; }
th, td { text-align: right; padding: .28rem 0 .28rem 1.4rem; border-bottom: 1px solid var(--rule); vertical-align:
  top;
  font-weight: 400; } thead th { color: var(--quiet); font-size: .86rem; position: sticky; top: 0; background:
  var(--paper); }
th:first-child, td:first-child { padding-left: 0; } th.words, td.words { text-align: left; min-width: 5rem;
  max-width: 26rem; } thead th.words { overflow-wrap: normal; }
ol.plain, ul.plain { padding-left: 1.2rem; max-width: 46rem; } ul.plain li, ol.plain li { margin: .25rem 0; }
nav.index table { width: 100%; font-size: .95rem; } nav.index td, nav.index th { padding-top: .5rem;
  padding-bottom: .5rem; }
@media (max-width: 40rem) { body { font-size: 15.5px; } h1 { font-size: 1.5rem; } h2 { font-size: 1.3rem; }
  dl { grid-template-columns: 1fr; gap: 0; } dt { margin-top: .55rem; font-size: .86rem; }
  th, td { padding-left: .8rem; } nav.index table { font-size: .78rem; } nav.index thead th { font-size: .72rem; }
  nav.index th:not(:first-child), nav.index td:not(:first-child) { padding-left: .4rem; }
  nav.index th.words, nav.index td.words { min-width: 4.6rem; }
  .beliefs { grid-template-columns: 1fr max-content; grid-auto-flow: dense; } .beliefs .bar { grid-column: 1 / -1; } }
@media print { :root { --ink: #000; --quiet: #333; --paper: #fff; --card: #fff; --rule: #bbb; --tick: #777;
  --accent: #000;
  --warn: #000; --warn-ground: #fff; --prior: #c9c4b8; --c0: #33689c; --c1: #cf4458; }
  body { font-size: 10.5pt; } main, header.top, footer { max-width: none; padding: 0; } .skip { display: none; }
  article, figure, .keys, .officer { break-inside: avoid-page; } article.release { break-before: page;
  break-inside: auto; }
  .scroll { max-height: none; overflow: visible; } .officer, .warning { border: 1px solid #777; } }
"""
