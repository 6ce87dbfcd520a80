# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Colours of pages, light and dark; the style sheet of a report, and its script for zooming and opening."""

COLOURS = """
:root{color-scheme:light dark;
--paper:#fff;--sheet:#fff;--ink:#1c222d;--soft:#5b6472;--line:#a9b1bd;--rule:#e3e6eb;--bar:#8fb4ee;--bad:#c5283d;
--tint:#f5f7fa;--badbar:#f0a3ad;--link:#2458b3}
@media (prefers-color-scheme:dark){:root{--paper:#14171c;--sheet:#191d24;--ink:#e4e8ee;--soft:#9aa4b3;--line:#5a6472;
--rule:#2c323c;--bar:#35588f;--bad:#ff7284;--tint:#1c2129;--badbar:#7d2f3b;--link:#8db4ff}}
body{background:var(--paper);color:var(--ink)}
"""

STYLE = """
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:56px}
body{margin:0;font:14px/1.5 system-ui,'DejaVu Sans',Helvetica,Arial,sans-serif}
main{max-width:1240px;margin:0 auto;padding:0 24px 64px}
header{max-width:1240px;margin:0 auto;padding:20px 24px 0}
h1{font-size:22px;margin:0} h2{font-size:18px;margin:40px 0 8px;padding-bottom:4px;border-bottom:1px solid var(--rule)}
h3{font-size:14px;margin:20px 0 6px} header p{margin:2px 0 12px;color:var(--soft)} p{margin:6px 0 10px}
nav{position:sticky;top:0;z-index:5;background:var(--paper);border-bottom:1px solid var(--rule)}
nav div{max-width:1240px;margin:0 auto;padding:10px 24px;display:flex;gap:20px;flex-wrap:wrap}
nav a{color:var(--link);text-decoration:none} nav a:hover{text-decoration:underline}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:12px;margin:16px 0}
.tile{background:var(--tint);border:1px solid var(--rule);border-radius:8px;padding:10px 14px}
.tile b{display:block;font-size:20px;line-height:1.25;font-weight:600;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.tile span{color:var(--soft);font-size:12px}
.scroll{overflow:auto;max-width:100%}
.tall{max-height:760px;background:var(--sheet);border:1px solid var(--rule);border-radius:8px}
.tall svg{display:block;margin:0 auto}
table{border-collapse:collapse;width:100%;font-size:13px} th{text-align:left;font-weight:600;color:var(--soft)}
th,td{padding:4px 10px;border-bottom:1px solid var(--rule);vertical-align:top;white-space:nowrap}
th.n,td.n{text-align:right;font-variant-numeric:tabular-nums}
td.code,code{font-family:ui-monospace,'DejaVu Sans Mono',Menlo,monospace;font-size:12px}
td.code{white-space:pre-line;overflow-wrap:anywhere;min-width:205px}
td.soft{color:var(--soft);font-size:12px;min-width:130px;white-space:normal;overflow-wrap:anywhere}
td.share{width:190px} td.share div{display:flex;gap:8px;align-items:center;justify-content:flex-end}
td.share span:last-child{font-variant-numeric:tabular-nums;min-width:52px;text-align:right}
.bar{flex:1;height:12px;background:var(--tint);border-radius:3px;min-width:60px;overflow:hidden}
.bar b{display:block;height:100%;background:var(--bar)} .bar.bad b{background:var(--badbar)}
td.bad,.bad{color:var(--bad)} .verdict{font-weight:600}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:12px;color:var(--soft);margin:8px 0}
.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px;vertical-align:-2px}
details{margin:8px 0} summary{cursor:pointer;color:var(--link);padding:4px 0}
.time{width:calc(100% * var(--zoom,1));min-width:640px;padding-top:4px}
.lane{position:relative;height:52px} .lane em{position:sticky;left:0;font-style:normal;font-size:11px;color:var(--soft)}
.part{position:absolute;top:18px;height:28px;min-width:1px;overflow:hidden;white-space:nowrap;font-size:11px;
line-height:28px;color:#15191f;padding:0;text-indent:4px;border-right:1px solid var(--paper)}
.part:hover{outline:2px solid var(--ink);z-index:2}
.axis{position:relative;height:24px;border-top:1px solid var(--line)}
.axis span{position:absolute;font-size:11px;color:var(--soft);padding-left:4px;border-left:1px solid var(--line);
white-space:nowrap}
button{font:inherit;font-size:12px;color:var(--ink);background:var(--tint);border:1px solid var(--rule);
border-radius:5px;padding:1px 8px;margin-right:4px;cursor:pointer} button:hover{border-color:var(--line)}
[data-opens]{cursor:pointer} footer{color:var(--soft);font-size:12px;margin-top:40px}
@media (max-width:640px){main,header,nav div{padding-left:14px;padding-right:14px} th,td{padding:4px 6px}
td.code{min-width:120px} td.soft{min-width:84px;font-size:11px} td.share{width:auto} .bar{display:none}}
@media print{nav{display:none} .tall{max-height:none}}
""".replace("\n", " ").strip()

SCRIPT = """
document.querySelectorAll('[data-zoom]').forEach(element => element.addEventListener('click', () =>
  document.getElementById('time').style.setProperty('--zoom', element.dataset.zoom)));
document.querySelectorAll('[data-opens]').forEach(element => element.addEventListener('click', () => {
  const inside = document.getElementById(element.dataset.opens);
  if (inside) { inside.open = true; inside.scrollIntoView(); }
}));
document.documentElement.dataset.ready = 'yes';
""".strip()
