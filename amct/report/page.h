#pragma once

namespace amct::report {

/// The fixed parts of the HTML page. kPageHead is a format string with the model's name.
inline constexpr const char* kPageHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>AMCT: {0}</title><style>
:root{{color-scheme:light dark;--line:#8884;--bar:#4682b4;--clip:#c33}}
body{{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:70rem;padding:0 1rem}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}}dt{{opacity:.7}}dd{{margin:0;overflow-wrap:anywhere}}
.scroll{{overflow-x:auto}}table{{border-collapse:collapse;width:100%}}
th,td{{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}}
td:first-child{{overflow-wrap:anywhere;min-width:12rem}}th{{cursor:pointer;position:sticky;top:0;background:Canvas}}
tr.float{{opacity:.65}}figure{{display:inline-block;margin:.3rem 1rem .3rem 0}}figcaption{{font-size:.8rem}}
svg{{width:320px;max-width:100%;height:90px;border:1px solid var(--line)}}.bars{{fill:var(--bar)}}
.clip{{stroke:var(--clip);stroke-width:1.5}}input{{font:inherit;padding:.3rem;width:min(100%,24rem)}}
</style></head><body><h1>AMCT quantization report</h1>
)";

inline constexpr const char* kTableHead =
    R"(<h2>Layers</h2><p><input id="filter" type="search" placeholder="filter by name, type or reason" aria-label="filter"></p>
<div class="scroll"><table id="layers"><thead><tr><th>layer</th><th>type</th><th>SQNR</th><th>cosine</th><th>scale_d</th><th>offset_d</th><th>parameters</th></tr></thead><tbody>
)";

inline constexpr const char* kPageFoot = R"(</tbody></table></div>
<script>
const body=document.querySelector("#layers tbody"),rows=[...body.rows];
document.getElementById("filter").oninput=e=>{const q=e.target.value.toLowerCase();
for(const r of rows)r.hidden=!r.textContent.toLowerCase().includes(q)};
document.querySelectorAll("#layers th").forEach((th,i)=>{let up=false;th.onclick=()=>{up=!up;
const key=r=>{const c=r.cells[i];return c?(c.dataset.key??c.textContent):"1e99"};
rows.sort((a,b)=>{const x=key(a),y=key(b),d=Number(x)-Number(y);
return(up?1:-1)*(Number.isNaN(d)?String(x).localeCompare(String(y)):d)});body.append(...rows)}});
</script></body></html>
)";

}  // namespace amct::report
