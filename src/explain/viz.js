// The page that BARETILE_VIZ writes. Data: element "data" for what every view needs; "k3" and "p0", compressed, for one kernel or program.
'use strict';
const D = JSON.parse(document.getElementById('data').textContent);
const CORES = [['BRISC', 'writes results'], ['NCRISC', 'reads operands'], ['TRISC0', 'unpacks'], ['TRISC1', 'computes'], ['TRISC2', 'packs']];
const FUNCTIONS = ['kernel_brisc', 'kernel_ncrisc', 'kernel_trisc0', 'kernel_trisc1', 'kernel_trisc2'];
const SIDE_BY_SIDE = [1, 2, 3, 4, 0];  // the way of the data
const L1 = [['firmware', 0, 0x6000, '--queue'], ['mailbox', 0x6000, 0x2000, '--compile'], ['kernel images', 0x8000, 0x58000, '--transfer'],
            ['input ring', 0x60000, 0xE0000, '--run'], ['output ring', 0x140000, 0x40000, '--note']];

// --- small things
const $ = id => document.getElementById(id);
const esc = s => String(s).replace(/[&<>"]/g, c => ({'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;'}[c]));
const time = us => us >= 1e6 ? (us / 1e6).toFixed(2) + ' s' : us >= 1e3 ? (us / 1e3).toFixed(us >= 1e5 ? 0 : 1) + ' ms' : Math.round(us) + ' µs';
const count = n => Math.round(n).toLocaleString('en-US');
const bytes = n => n >= 1 << 20 ? (n / (1 << 20)).toFixed(1) + ' MiB' : n >= 1024 ? (n / 1024).toFixed(n % 1024 ? 1 : 0) + ' KiB' : n + ' B';
const hex = n => '0x' + (n >>> 0).toString(16);
const hue = k => k < 0 ? 'var(--queue)' : `hsl(${(k * 137.5 + 210) % 360} 55% var(--l))`;
const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : word.endsWith('ch') ? 'es' : 's'}`;

// --- data
const runs = [];
for (let i = 0; i < D.runs.length; i += 6) {
  const [p, l, b, r, e, c] = D.runs.slice(i, i + 6);
  runs.push({p, l, b, r, e, c, k: D.programs[p].launches[l], n: runs.length});
}
const moves = [];
for (let i = 0; i < D.moves.length; i += 4) moves.push({b: D.moves[i], e: D.moves[i + 1], bytes: D.moves[i + 2], out: D.moves[i + 3]});
D.kernels.forEach((k, i) => Object.assign(k, {i, count: 0, run: 0, queue: 0, cycles: 0, programs: new Set()}));
for (const r of runs) {
  const k = D.kernels[r.k];
  k.count++; k.run += r.e - r.r; k.queue += r.r - r.b; k.cycles += r.c; k.programs.add(r.p);
}
D.programs.forEach((p, i) => Object.assign(p, {i, runs: 0, run: 0}));
for (const r of runs) { D.programs[r.p].run += r.e - r.r; if (r.l === 0) D.programs[r.p].runs++; }
const total = {
  compile: D.programs.reduce((a, p) => a + p.compile[1] - p.compile[0], 0), transfer: moves.reduce((a, m) => a + m.e - m.b, 0),
  queue: runs.reduce((a, r) => a + r.r - r.b, 0), run: runs.reduce((a, r) => a + r.e - r.r, 0)};
const end = Math.max(0, ...runs.slice(-1).map(r => r.e), ...moves.slice(-1).map(m => m.e), ...D.programs.map(p => p.compile[1]));
const opened = new Map();
function part(id) {
  if (!opened.has(id)) opened.set(id, (async () => {
    if (!window.DecompressionStream) throw Error('this browser has no DecompressionStream; use one from 2023 or later');
    const raw = Uint8Array.from(atob($(id).textContent), c => c.charCodeAt(0));
    return JSON.parse(await new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream('deflate'))).text());
  })());
  return opened.get(id);
}

// --- the frame
let order = 'time', filter = '', shown = [], view = '', current = 0;
const orders = {time: (a, b) => b.run - a.run || a.i - b.i, first: (a, b) => a.i - b.i, name: (a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : a.i - b.i};
document.body.insertAdjacentHTML('afterbegin', `<header><b>baretile viz</b><nav><a href="#overview" data-v="overview">Overview</a><a href="#timeline" data-v="timeline">Timeline</a><a href="#graph-0" data-v="graph">Graphs</a><a href="#kernel-0" data-v="kernel">Kernels</a></nav>
<span class="grow" title="${esc(D.command)}">${esc(D.command)}</span><button id="dark" title="dark or light (d)">◐</button><button id="help" title="keys (?)">?</button></header>
<aside><div class="tools"><input id="search" type="search" placeholder="Search  /" aria-label="Search kernels"><select id="order" aria-label="Order"><option value="time">time<option value="first">order<option value="name">name</select></div><div id="list" role="navigation"></div></aside>
<main id="main" tabindex="-1"></main><div id="tip"></div><dialog id="keys"><h2 style="margin-top:0">Keys</h2><table><tr><td><kbd>/</kbd><td>search kernels<tr><td><kbd>j</kbd> <kbd>k</kbd><td>next, previous kernel of the list<tr><td><kbd>o</kbd> <kbd>t</kbd> <kbd>g</kbd><td>overview, timeline, graphs<tr><td><kbd>+</kbd> <kbd>-</kbd> <kbd>←</kbd> <kbd>→</kbd> <kbd>0</kbd><td>timeline: zoom, move, all<tr><td><kbd>d</kbd><td>dark or light<tr><td><kbd>Esc</kbd><td>clear the search, close this</table><p class="dim">Each view has an address: #kernel-3, #kernel-3-code, #graph-0, #timeline.</p></dialog>`);
const ROW = 40;
function drawList() {
  const list = $('list'), first = Math.max(0, Math.floor(list.scrollTop / ROW) - 5), last = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 10);
  let html = `<div style="height:${shown.length * ROW}px"></div>`;
  for (let i = first; i < last; i++) {
    const k = shown[i];
    html += `<a href="#kernel-${k.i}" class="${view === 'kernel' && current === k.i ? 'on' : ''}" style="top:${i * ROW}px;border-color:${hue(k.i)}"><div class="n" title="${esc(k.name)}">${esc(k.name)}</div><div class="s">#${k.i} · ${plural(k.count, 'launch')} · ${time(k.run)}</div></a>`;
  }
  list.innerHTML = shown.length ? html : '<p class="dim" style="padding:10px">No kernel has that in its name.</p>';
}
function refilter() {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  shown = D.kernels.filter(k => words.every(w => (k.name + ' #' + k.i + ' ' + k.key).toLowerCase().includes(w))).sort(orders[order]);
  $('list').scrollTop = 0;
  drawList();
}
function tip(event, text) {
  const t = $('tip');
  t.style.display = text ? 'block' : 'none';
  if (!text) return;
  t.textContent = text;
  t.style.left = Math.min(event.clientX + 14, innerWidth - t.offsetWidth - 8) + 'px';
  t.style.top = Math.min(event.clientY + 14, innerHeight - t.offsetHeight - 8) + 'px';
}
const card = (value, what) => `<div class="card"><b>${value}</b><span>${what}</span></div>`;
const kernelLink = k => `<a href="#kernel-${k.i}">${esc(k.name)}</a>`;

// --- overview
function timeBar() {
  const busy = total.compile + total.transfer + total.queue + total.run, rest = Math.max(0, end - busy);
  const parts = [['compile', total.compile, 'graph to images, or from the cache'], ['transfer', total.transfer, 'pages to and from the device'], ['queue', total.queue, 'images put in place, records written'], ['run', total.run, 'until all tiles were done'], ['host', rest, 'everything else']];
  const whole = parts.reduce((a, p) => a + p[1], 0) || 1;
  return `<div class="bar">${parts.map(p => `<i style="width:${100 * p[1] / whole}%;background:var(--${p[0]})" title="${p[0]} ${time(p[1])}"></i>`).join('')}</div>
<div class="legend">${parts.map(p => `<span><i style="background:var(--${p[0]})"></i>${p[0]} <b>${time(p[1])}</b> <span class="dim">${p[2]}</span></span>`).join('')}</div>`;
}
function overview() {
  const most = [...D.kernels].sort(orders.time).slice(0, 25), peak = most.length ? most[0].run || 1 : 1;
  return `<h1>${plural(runs.length, 'launch')} of ${plural(D.kernels.length, 'kernel')}</h1><p class="dim">on ${esc(D.device)}: ${esc(D.about)}. Launches ran one by one, so that each has its own times${D.dropped ? `; ${count(D.dropped)} later launches and transfers are left out` : ''}.</p>
<div class="cards">${card(count(D.programs.length), 'programs')}${card(count(D.kernels.length), 'kernels')}${card(count(runs.length), 'launches')}${card(time(total.run), 'on the device')}${card(count(runs.reduce((a, r) => a + r.c, 0)), 'device cycles')}${card(bytes(moves.reduce((a, m) => a + m.bytes, 0)), 'moved by the host')}${card(count(Math.max(0, D.tiles.length - 1)), 'workers')}</div>
<h2>Where ${time(end)} went</h2>${timeBar()}
<h2>Kernels by time</h2><div class="scroll"><table><tr><th>kernel<th class="r">launches<th class="r">run<th>share<th class="r">a launch<th class="r">cycles a launch<th class="r">queue<th class="r">code</tr>${most.map(k => `<tr><td>${kernelLink(k)}<td class="r">${count(k.count)}<td class="r">${time(k.run)}<td class="share"><span class="meter" style="width:${Math.max(1, 80 * k.run / peak)}px;background:${hue(k.i)}"></span> ${(100 * k.run / (total.run || 1)).toFixed(1)}%<td class="r">${time(k.run / (k.count || 1))}<td class="r">${count(k.cycles / (k.count || 1))}<td class="r">${time(k.queue)}<td class="r">${bytes(k.bytes)}</tr>`).join('')}</table></div>${D.kernels.length > most.length ? `<p class="dim">and ${D.kernels.length - most.length} more in the list on the left</p>` : ''}
<h2>Programs</h2><div class="scroll"><table><tr><th>program<th class="r">launches<th class="r">runs<th class="r">compile<th class="r">run</tr>${D.programs.slice(0, 300).map(p => `<tr><td><a href="#graph-${p.i}">${p.graph ? 'graph' : 'program'} ${p.i}</a> <span class="dim">${esc([...new Set(p.launches)].slice(0, 3).map(k => D.kernels[k].name).join(', '))}${new Set(p.launches).size > 3 ? ', …' : ''}</span><td class="r">${count(p.launches.length)}<td class="r">${count(p.runs)}<td class="r">${time(p.compile[1] - p.compile[0])}<td class="r">${time(p.run)}</tr>`).join('')}</table></div>`;
}

// --- timeline
const lanes = ['compile', 'transfer', 'queue', 'run'];
let range = null, cyclesAxis = false;
let spans = [];
function makeSpans() {
  if (cyclesAxis) {
    let at = 0;
    spans = runs.map(r => ({lane: 3, b: at, e: at += r.c, r, k: r.k}));
    return;
  }
  spans = D.programs.filter(p => p.graph).map(p => ({lane: 0, b: p.compile[0], e: p.compile[1], p}));
  spans.push(...moves.map(m => ({lane: 1, b: m.b, e: m.e, m})));
  for (const r of runs) spans.push({lane: 2, b: r.b, e: r.r, r, k: -1}, {lane: 3, b: r.r, e: r.e, r, k: r.k});
}
const spanEnd = () => spans.reduce((a, s) => Math.max(a, s.e), 1);
const unit = v => cyclesAxis ? count(v) + ' cycles' : time(v);
function timeline() {
  makeSpans();
  range = range || [0, spanEnd()];
  return `<h1>Timeline</h1><p class="dim">Wheel or <kbd>+</kbd> <kbd>-</kbd> zooms, dragging or arrows move, a click on a launch opens its kernel. Queue, compile, transfer and run are apart: launches ran one by one.</p>
<div class="row"><button id="host" class="${cyclesAxis ? '' : 'on'}">host time</button><button id="cycles" class="${cyclesAxis ? 'on' : ''}">device cycles</button><button id="all">all (0)</button><span id="span" class="dim"></span></div>
<canvas id="time" height="260"></canvas><h2>What runs in this view</h2><div id="inview"></div>`;
}
const LEFT = 76, TOP = 26, LANE = 52;
function drawTimeline() {
  const canvas = $('time');
  if (!canvas) return;
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = TOP + LANE * 4 + 8;
  canvas.width = width * ratio; canvas.height = height * ratio; canvas.style.height = height + 'px';
  const c = canvas.getContext('2d'), [from, to] = range, scale = (width - LEFT - 8) / (to - from);
  c.scale(ratio, ratio);
  c.font = '11px system-ui, sans-serif';
  const ink = color('--ink'), dim = color('--dim'), line = color('--line'), light = color('--l');
  const step = 10 ** Math.floor(Math.log10((to - from) / 4)), every = (to - from) / step > 12 ? step * 2.5 : step;
  for (let t = Math.ceil(from / every) * every; t <= to; t += every) {
    const x = LEFT + (t - from) * scale;
    c.fillStyle = line; c.fillRect(x, TOP - 4, 1, height);
    c.fillStyle = dim; c.fillText(unit(t), x + 3, 14);
  }
  lanes.forEach((name, i) => { c.fillStyle = dim; c.fillText(name, 10, TOP + LANE * i + 26); });
  const last = [-1, -1, -1, -1], seen = new Map();
  c.save(); c.beginPath(); c.rect(LEFT, 0, width - LEFT, height); c.clip();
  for (const s of spans) {
    if (s.e < from || s.b > to) continue;
    if (s.lane === 3) { const n = seen.get(s.k) || {run: 0, count: 0}; n.run += Math.min(s.e, to) - Math.max(s.b, from); n.count++; seen.set(s.k, n); }
    const x = LEFT + (s.b - from) * scale, w = Math.max(1, (s.e - s.b) * scale - (s.e - s.b > 6 / scale ? 1 : 0));
    if (w <= 1 && x - last[s.lane] < 1) continue;  // another one is in this pixel
    last[s.lane] = x + w;
    c.fillStyle = s.lane === 3 ? `hsl(${(s.k * 137.5 + 210) % 360} 55% ${light})` : color('--' + lanes[s.lane]);
    c.fillRect(x, TOP + LANE * s.lane + 6, w, LANE - 14);
    if (s.lane === 3 && w > 46) {
      c.save(); c.beginPath(); c.rect(x, 0, w - 3, height); c.clip();
      c.fillStyle = color('--panel'); c.fillText(D.kernels[s.k].name, Math.max(x, LEFT) + 5, TOP + LANE * 3 + 30); c.restore();
    }
  }
  c.restore();
  $('span').textContent = `${unit(from)} to ${unit(to)}, ${unit(to - from)}`;
  const rows = [...seen].sort((a, b) => b[1].run - a[1].run).slice(0, 12);
  $('inview').innerHTML = rows.length ? `<table><tr><th>kernel<th class="r">launches<th class="r">${cyclesAxis ? 'cycles' : 'run'}</tr>${rows.map(([k, n]) => `<tr><td><span class="meter" style="width:9px;background:${hue(k)}"></span> ${kernelLink(D.kernels[k])}<td class="r">${count(n.count)}<td class="r">${unit(n.run)}</tr>`).join('')}</table>` : '<p class="dim">No launch.</p>';
}
function zoom(factor, at = 0.5) {
  const width = Math.max(range[1] - range[0], 1e-9), next = Math.min(Math.max(width * factor, 5), spanEnd() * 1.02), center = range[0] + width * at;
  range = [center - next * at, center + next * (1 - at)];
  move(0);
}
function move(by) {
  const width = range[1] - range[0], most = spanEnd() * 1.02;
  const from = Math.min(Math.max(range[0] + by * width, 0), Math.max(0, most - width));
  range = [from, from + width];
  drawTimeline();
}
function wireTimeline() {
  const canvas = $('time');
  let drag = null;
  const at = e => (e.offsetX - LEFT) / (canvas.clientWidth - LEFT - 8);
  const hit = e => {
    const t = range[0] + at(e) * (range[1] - range[0]), slack = 3 * (range[1] - range[0]) / canvas.clientWidth, lane = Math.floor((e.offsetY - TOP) / LANE);
    return spans.filter(s => s.lane === lane && s.b - slack <= t && s.e + slack >= t).sort((a, b) => (a.e - a.b) - (b.e - b.b))[0];
  };
  canvas.onwheel = e => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, at(e)); };
  canvas.onpointerdown = e => { drag = {x: e.offsetX, from: range, moved: false}; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = e => {
    if (drag) {
      const by = (drag.x - e.offsetX) / (canvas.clientWidth - LEFT - 8);
      drag.moved = drag.moved || Math.abs(e.offsetX - drag.x) > 3;
      range = drag.from; move(by); tip(e, '');
      return;
    }
    const s = hit(e);
    tip(e, !s ? '' : s.r ? `${D.kernels[s.r.k].name}\nlaunch ${s.r.l} of program ${s.r.p}\nqueue ${time(s.r.r - s.r.b)}, run ${time(s.r.e - s.r.r)}, ${count(s.r.c)} cycles` : s.m ? `${s.m.out ? 'to' : 'from'} the device: ${bytes(s.m.bytes)} in ${time(s.e - s.b)}` : `program ${s.p.i} compiled in ${time(s.e - s.b)}`);
  };
  canvas.onpointerup = e => { const s = drag && !drag.moved && hit(e); drag = null; if (s) location.hash = s.r ? 'kernel-' + s.r.k : s.p ? 'graph-' + s.p.i : 'timeline'; };
  canvas.onpointerleave = e => tip(e, '');
  $('all').onclick = () => { range = [0, spanEnd()]; drawTimeline(); };
  const axis = cycles => () => { cyclesAxis = cycles; range = null; show(); };
  $('host').onclick = axis(false); $('cycles').onclick = axis(true);
  drawTimeline();
}

// --- graphs: nodes of a program in layers, coloured by the kernel that computes them
const W = 168, H = 38, GX = 14, GY = 30;
function graphSvg(nodes, numbers, launches, outputs) {
  const inside = new Set(numbers), rank = new Map(), rows = [], x = new Map();
  for (const n of numbers) {
    const r = Math.max(-1, ...nodes[n][2].filter(i => inside.has(i)).map(i => rank.get(i))) + 1;
    rank.set(n, r);
    (rows[r] = rows[r] || []).push(n);
  }
  const readers = new Map(numbers.map(n => [n, []]));
  for (const n of numbers) for (const i of nodes[n][2]) if (inside.has(i)) readers.get(i).push(n);
  for (const n of [...numbers].reverse()) {  // inputs, constants and views stand right above their first reader
    if (nodes[n][3] >= 0 || !readers.get(n).length) continue;
    const r = Math.min(...readers.get(n).map(m => rank.get(m))) - 1, old = rows[rank.get(n)];
    old.splice(old.indexOf(n), 1); rank.set(n, r); rows[r].push(n);
  }
  rows.forEach((row, r) => {
    const want = n => { const xs = nodes[n][2].filter(i => x.has(i)).map(i => x.get(i)); return xs.length ? xs.reduce((a, b) => a + b) / xs.length : r ? 1e6 : n; };
    row.sort((a, b) => want(a) - want(b) || a - b).forEach((n, i) => x.set(n, i * (W + GX)));
  });
  const widest = Math.max(1, ...rows.map(r => r.length)) * (W + GX);
  rows.forEach(row => { const shift = (widest - row.length * (W + GX)) / 2; row.forEach(n => x.set(n, x.get(n) + shift)); });
  const y = n => rank.get(n) * (H + GY) + 6, mid = n => x.get(n) + W / 2;
  let edges = '', boxes = '';
  for (const n of numbers) {
    for (const i of nodes[n][2]) {
      if (!inside.has(i)) continue;
      const a = y(i) + H, b = y(n), d = (b - a) / 2;
      edges += `<path class="edge" d="M${mid(i)} ${a}C${mid(i)} ${a + d} ${mid(n)} ${b - d} ${mid(n)} ${b}"/>`;
    }
    const [op, type, , launch, detail] = nodes[n], k = launch < 0 ? -1 : launches[launch];
    const title = `%${n} = ${op} ${nodes[n][2].map(i => '%' + i).join(' ')} ${detail} : ${type}${k < 0 ? '' : '\nin ' + D.kernels[k].name + ', launch ' + launch}`;
    const label = `%${n} ${op === 'constant' || op === 'external' ? op + ' ' + (op === 'constant' ? +(+detail).toPrecision(6) : detail) : op}`;
    const box = `<rect x="${x.get(n)}" y="${y(n)}" width="${W}" height="${H}" rx="6" fill="var(--panel)"/><rect x="${x.get(n)}" y="${y(n)}" width="${W}" height="${H}" rx="6" fill="${k < 0 ? 'var(--panel)' : `hsl(${(k * 137.5 + 210) % 360} 55% var(--l) / .22)`}" stroke="${k < 0 ? 'var(--line)' : hue(k)}" stroke-width="${outputs.includes(n) ? 3 : 1.3}"/><text x="${x.get(n) + 9}" y="${y(n) + 16}">${esc(label)}</text><text class="small" x="${x.get(n) + 9}" y="${y(n) + 30}">${esc(type)}</text><title>${esc(title)}</title>`;
    boxes += k < 0 ? `<g>${box}</g>` : `<a href="#kernel-${k}">${box}</a>`;
  }
  return `<svg viewBox="0 0 ${widest + 4} ${rows.length * (H + GY)}" width="${widest + 4}" style="max-width:100%;min-width:${Math.round(0.65 * widest)}px;height:auto">${edges}${boxes}</svg>`;
}
const PAGE = 150;
let page = 0;
async function graph(n) {
  const p = D.programs[n], data = await part('p' + n);
  const others = `<div class="row">${n > 0 ? `<a href="#graph-${n - 1}">← graph ${n - 1}</a>` : ''}${n + 1 < D.programs.length ? `<a href="#graph-${n + 1}">graph ${n + 1} →</a>` : ''}</div>`;
  const launches = `<h2>Launches</h2><div class="scroll" style="max-height:420px"><table><tr><th class="r">launch<th>kernel<th>buffers</tr>${p.launches.map((k, l) => `<tr><td class="r">${l}<td><span class="meter" style="width:9px;background:${hue(k)}"></span> <a href="#kernel-${k}">${esc(data.labels[l])}</a><td class="mono">${data.args[l].map(a => a < 0 ? '=' : '@' + a).join(' ')}</tr>`).join('')}</table></div>
<h2>Buffers</h2><div class="scroll" style="max-height:420px"><table><tr><th class="r">buffer<th>shape<th>dtype<th>layout<th class="r">pages<th>place</tr>${data.buffers.map((b, i) => `<tr><td class="r mono">@${i}<td class="mono">${esc(b[1])}<td>${b[2]}<td>${b[3]}<td class="r">${count(b[4])}<td class="mono">${b[5] >= 0 ? 'external ' + b[5] : 'arena + ' + hex(b[6])}</tr>`).join('')}</table></div>`;
  if (!data.nodes) return `<h1>Program ${n}</h1><p class="dim">Run by Runtime::run, without a graph of tensor expressions.</p>${others}${launches}`;
  const pages = Math.ceil(data.nodes.length / PAGE);
  page = Math.min(page, pages - 1);
  const numbers = data.nodes.map((_, i) => i).slice(page * PAGE, (page + 1) * PAGE), used = new Set(numbers.flatMap(i => data.nodes[i][2]));
  const visible = [...new Set([...used, ...numbers])].sort((a, b) => a - b);
  const computed = data.nodes.filter(x => x[3] >= 0).length;
  return `<h1>Graph ${n}: ${plural(data.nodes.length, 'node')}, ${plural(p.launches.length, 'launch')}</h1><p class="dim">${plural(new Set(p.launches).size, 'kernel')} in ${plural(p.launches.length, 'launch')} compute ${plural(computed, 'node')}; equal nodes are one here. One colour is one kernel; thick frames are results; what has no colour is input, constant or view.</p>${others}
${pages > 1 ? `<div class="row"><button id="before">←</button> nodes ${page * PAGE} to ${Math.min(data.nodes.length, (page + 1) * PAGE) - 1} of ${data.nodes.length} <button id="after">→</button></div>` : ''}
<div class="scroll">${graphSvg(data.nodes, visible, p.launches, data.outputs)}</div><h2>Why each result goes to memory</h2><pre class="box">${esc(data.plan)}</pre>${launches}<details><summary>Kernels, buffers and launches as the compiler prints them</summary><pre class="box">${esc(data.schedule)}</pre></details>`;
}

// --- one kernel
function functionText(source, name) {
  const at = source.indexOf(`extern "C" void ${name}(`);
  if (at < 0) return '';
  let depth = 0;
  for (let i = source.indexOf('{', at); i >= 0 && i < source.length; i++) {
    if (source[i] === '{') depth++;
    if (source[i] === '}' && --depth === 0) return source.slice(at, i + 1);
  }
  return source.slice(at);
}
const paint = text => esc(text).replace(/(\/\/[^\n]*)|\b(const|for|if|while|return|void|u32|extern|constexpr|auto|using|namespace)\b|\b([a-z_0-9]+)(?=&lt;|\()/g,
  (_, c, k, x) => c ? `<span class="c">${c}</span>` : k ? `<span class="k">${k}</span>` : `<span class="x">${x}</span>`);
function listing(lines) {
  return lines.map(([o, w, t, text, note, target]) => {
    const body = target ? esc(text).replace(/0x[0-9a-f]+$/, m => `<a href="#" data-to="${target}">${m}</a>`) + (/0x[0-9a-f]+$/.test(text) ? '' : ` <a href="#" data-to="${target}">→ 0x${target}</a>`) : esc(text);
    return `<div id="a${o}"><span class="o">${o.padStart(5)}  ${w}</span>  <span class="${t ? 't' : ''}">${body}</span>${note ? `  <span class="c"># ${esc(note)}</span>` : ''}</div>`;
  }).join('');
}
const along = axis => [...new Set(D.tiles.map(t => t[axis]))].sort((a, b) => a - b);
const takesPart = data => {
  const xs = along(0), ys = along(1);
  return D.tiles.map(([x, y], t) => t < data.workers && ys.indexOf(y) < data.team[0] && xs.indexOf(x) < data.team[1]);
};
const requests = data => takesPart(data).map((part, t) => part && data.noc[t] ? data.noc[t].reduce((a, b) => a + b) : 0);
function tileGrid(data, items) {
  const xs = along(0), ys = along(1), S = 34;
  const part = takesPart(data), work = requests(data), most = Math.max(1, ...work);
  return `<svg width="${xs.length * S + 30}" height="${ys.length * S + 22}">` + xs.map((x, i) => `<text class="small" x="${28 + i * S + S / 2 - 6}" y="12">${x}</text>`).join('') + ys.map((y, i) => `<text class="small" x="6" y="${20 + i * S + S / 2}">${y}</text>`).join('') +
    D.tiles.map(([x, y], t) => {
      const dispatch = t === D.tiles.length - 1, mine = [];
      for (let i = t; part[t] && i < items; i += data.workers) mine.push(i);
      const r = data.noc[t], busy = part[t], share = busy && r ? work[t] / most : 0;
      const text = dispatch ? `tile ${x}-${y} dispatches` : `tile ${x}-${y}, worker ${t}\n` + (busy ? (items ? `items ${mine.slice(0, 12).join(', ')}${mine.length > 12 ? ', …' : ''} of ${items}\n` : '') + (r ? `NoC 0: ${plural(r[0], 'read')}, ${plural(r[1], 'write')}\nNoC 1: ${plural(r[2], 'read')}, ${plural(r[3], 'write')}` : '') : 'has no part in this launch');
      const fill = dispatch ? 'var(--compile)' : busy ? `color-mix(in srgb, var(--run) ${Math.round(25 + 75 * share)}%, var(--soft))` : 'var(--soft)';
      return `<g data-tip="${esc(text)}"><rect class="tile" x="${24 + xs.indexOf(x) * S}" y="${16 + ys.indexOf(y) * S}" width="${S}" height="${S}" rx="4" fill="${fill}"/><text class="small" style="pointer-events:none;${dispatch || share > .5 ? 'fill:#fff' : ''}" text-anchor="middle" x="${24 + xs.indexOf(x) * S + S / 2}" y="${16 + ys.indexOf(y) * S + 21}">${dispatch ? 'D' : busy ? (items ? mine.length : r ? work[t] : '') : ''}</text></g>`;
    }).join('') + '</svg>';
}
function memoryMap(data, bytesOfCode) {
  const source = data.source, slot = what => (source.match(new RegExp(what + '<(\\d+)')) || [])[1], starts = data.entry.map((e, i) => e < 0 ? -1 : data.at[i] - e).filter(a => a >= 0);
  const base = starts.length ? starts[0] : 0, input = slot('Reader'), output = slot('Packer');
  const about = {firmware: 'boot and waiting, all five cores', mailbox: 'launch record, waypoints, ring counters',
    'kernel images': starts.length ? `this one at ${hex(base)}, ${bytes(bytesOfCode)}` : '', 'input ring': input ? `${count(Math.floor(0xE0000 / input))} slots of ${bytes(+input)}` : 'scratch of the data-movement cores',
    'output ring': output ? `${count(Math.floor(0x40000 / output))} slots of ${bytes(+output)}` : ''};
  return `<div class="l1">${L1.map(([n, a, s, c]) => `<i style="width:${100 * s / 0x180000}%;background:var(${c})" title="${n} ${hex(a)}, ${bytes(s)}"></i>`).join('')}</div>
<table style="margin-top:8px"><tr><th>L1<th>address<th class="r">size<th></tr>${L1.map(([n, a, s, c]) => `<tr><td><span class="meter" style="width:9px;background:var(${c})"></span> ${n}<td class="mono">${hex(a)}<td class="r">${bytes(s)}<td class="dim">${about[n]}</tr>`).join('')}</table>`;
}
async function kernel(n) {
  const k = D.kernels[n], data = await part('k' + n), p = data.program, program = await part('p' + p);
  const lines = data.code.split('\n').filter(Boolean).map(l => l.split('\t'));
  const starts = data.entry.map((e, core) => [e, core]).filter(s => s[0] >= 0).sort((a, b) => a[0] - b[0]);
  const owner = o => { let core = -1; for (const [e, c] of starts) if (o >= e) core = c; return core; };
  const columns = [[], [], [], [], []];
  for (const l of lines) { const core = owner(parseInt(l[0], 16)); columns[core < 0 ? starts[0][1] : core].push(l); }
  const first = data.source.indexOf('extern "C"'), items = +((data.source.match(/items\((\d+)\)/) || [])[1] || 0);
  const nodes = program.nodes ? program.nodes.map((x, i) => i).filter(i => program.nodes[i][3] === data.launch) : [];
  const around = [...new Set([...nodes.flatMap(i => program.nodes[i][2]), ...nodes])].sort((a, b) => a - b);
  const why = program.plan ? program.plan.split(/(?=^kernel )/m).filter(s => s.split('\n')[0] === 'kernel ' + k.name)[0] : '';
  const each = k.count || 1, used = SIDE_BY_SIDE.filter(c => columns[c].length);
  return `<h1>${esc(k.name)}</h1><p class="dim">kernel #${n}, key ${k.key}; first as launch ${data.launch} of <a href="#graph-${p}">${D.programs[p].graph ? 'graph' : 'program'} ${p}</a>${k.programs.size > 1 ? ` and in ${k.programs.size - 1} more` : ''}</p>
<div class="cards">${card(count(k.count), 'launches')}${card(time(k.run), 'run')}${card(time(k.run / each), 'a launch')}${card(count(k.cycles / each), 'cycles a launch')}${card(time(k.queue / each), 'queue a launch')}${card(`${takesPart(data).filter(Boolean).length} / ${Math.max(0, D.tiles.length - 1)}`, 'tiles at work')}${items ? card(count(items), 'work items') : ''}${card(count(requests(data).reduce((a, b) => a + b, 0)), 'NoC requests')}${card(bytes(k.bytes), 'code')}</div>
<div class="two"><div style="flex:1 1 520px"><h2>What it computes</h2><pre class="box">${esc(data.spec || 'A program of Runtime::run; its source is below.')}</pre>${why ? `<h2>Why its results go to memory</h2><pre class="box">${esc(why.split('\n').slice(1).join('\n'))}</pre>` : ''}</div>
${nodes.length ? `<div style="flex:1 1 400px"><h2>Its part of the graph</h2><div class="scroll" style="max-height:460px">${graphSvg(program.nodes, around.slice(0, 200), D.programs[p].launches, program.outputs)}</div></div>` : ''}</div>
<h2>Buffers of its first launch</h2><div class="scroll"><table><tr><th class="r">argument<th>shape<th>dtype<th>layout<th class="r">pages<th class="r">in a run<th>place<th>address in each bank</tr>${program.args[data.launch].map((a, i) => a < 0 ? `<tr><td class="r">${i}<td colspan="6">constant<td class="mono">${hex(data.args[i])}</tr>` : (b => `<tr><td class="r mono">@${i}<td class="mono">${esc(b[1])}<td>${b[2]}<td>${b[3]}<td class="r">${count(b[4])}<td class="r">${data.args[i] % 256}<td>${b[5] >= 0 ? 'external ' + b[5] : 'temporary'}<td class="mono">${hex(data.args[i] - data.args[i] % 256)}</tr>`)(program.buffers[a])).join('')}</table></div>
<div class="two"><div><h2>Who did what</h2><p class="dim">The number is ${items ? 'how many work items' : 'how many NoC requests'} a tile had, its shade how many reads and writes its NoC counters showed afterwards. D dispatches; axes are NoC coordinates.</p>${tileGrid(data, items)}</div><div style="flex:1 1 480px"><h2>Memory of a tile</h2>${memoryMap(data, k.bytes)}</div></div>
<h2 id="programs">The five cores' programs</h2><div class="row"><button data-mask="" class="on">source and code</button><button data-mask="mask-asm">source</button><button data-mask="mask-src">machine code</button><span class="dim">Tensix instructions are <span style="color:var(--tensix)">coloured</span>; what a store or configuration write means stands behind #.${used.length < 5 ? ` It does not use ${SIDE_BY_SIDE.filter(c => !columns[c].length).map(c => CORES[c][0]).join(', ')}.` : ''}</span></div>
${first > 0 ? `<details><summary>What they share</summary><pre class="box">${esc(data.source.slice(0, first))}</pre></details>` : ''}
<div class="cores" id="cores" style="grid-template-columns:repeat(${used.length}, minmax(315px, 1fr))">${used.map(c => `<div class="core"><h3>${CORES[c][0]} <span>${CORES[c][1]} · ${columns[c].length} words${c > 1 ? `, ${columns[c].filter(l => l[2]).length} Tensix` : ''}</span></h3><div class="src"><pre>${paint(functionText(data.source, FUNCTIONS[c])) || '<span class="dim">its source is not in the kernel cache</span>'}</pre></div><div class="asm mono">${listing(columns[c])}</div></div>`).join('')}</div>`;
}

// --- going somewhere
async function show() {
  const [, v, n, code] = location.hash.match(/^#(overview|timeline|graph|kernel)(?:-(\d+))?(-code)?$/) || [, 'overview', '0'];
  if (view !== v || current !== +n) page = 0;
  view = v; current = +(n || 0);
  const main = $('main'), known = v === 'kernel' ? D.kernels.length : v === 'graph' ? D.programs.length : 1, asked = location.hash;
  document.querySelectorAll('nav a').forEach(a => a.classList.toggle('on', a.dataset.v === v));
  document.title = (v === 'kernel' && D.kernels[current] ? D.kernels[current].name : v) + ' – baretile viz';
  drawList();
  try {
    const html = (v === 'kernel' || v === 'graph') && current >= known ? `<h1>There is no ${v} ${current}</h1><p>There are ${known}.</p>` : v === 'kernel' ? await kernel(current) : v === 'graph' ? await graph(current) : v === 'timeline' ? timeline() : overview();
    if (asked !== location.hash) return;  // gone on meanwhile
    main.innerHTML = html;
  } catch (error) {
    main.innerHTML = `<h1>This part of the page cannot be shown</h1><p>${esc(error.message || error)}</p>`;
  }
  main.scrollTop = 0;
  document.body.dataset.ready = v;
  tip(null, '');
  if (v === 'timeline') wireTimeline();
  if (code && $('programs')) $('programs').scrollIntoView();
  main.querySelectorAll('[data-mask]').forEach(b => b.onclick = () => { $('cores').className = 'cores ' + b.dataset.mask; main.querySelectorAll('[data-mask]').forEach(o => o.classList.toggle('on', o === b)); });
  if ($('before')) { $('before').onclick = () => { page = Math.max(0, page - 1); show(); }; $('after').onclick = () => { page++; show(); }; }
}
const theme = dark => { document.documentElement.dataset.theme = dark ? 'dark' : 'light'; drawTimeline(); };
const saved = (() => { try { return localStorage.getItem('baretile-theme'); } catch { return null; } })();
theme(saved ? saved === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches);
function toggleTheme() {
  const dark = document.documentElement.dataset.theme !== 'dark';
  theme(dark);
  try { localStorage.setItem('baretile-theme', dark ? 'dark' : 'light'); } catch { /* a page from a file may have no storage */ }
}
$('dark').onclick = toggleTheme;
$('help').onclick = () => $('keys').showModal();
$('search').oninput = e => { filter = e.target.value; refilter(); };
$('search').onkeydown = e => { if (e.key === 'Enter' && shown.length) { location.hash = 'kernel-' + shown[0].i; e.target.blur(); } };
$('order').onchange = e => { order = e.target.value; refilter(); };
$('list').onscroll = drawList;
onresize = () => { drawList(); drawTimeline(); };
onhashchange = show;
$('main').addEventListener('click', e => {
  const to = e.target.dataset && e.target.dataset.to;
  if (!to) return;
  e.preventDefault();
  document.querySelectorAll('.asm .hit').forEach(x => x.classList.remove('hit'));
  const line = $('a' + to);
  if (line) { line.classList.add('hit'); line.scrollIntoView({block: 'nearest'}); }
});
$('main').addEventListener('pointermove', e => { const g = e.target.closest('[data-tip]'); if (g) tip(e, g.dataset.tip); else if (view === 'kernel') tip(e, ''); });
document.addEventListener('keydown', e => {
  if (e.key === 'Escape') { filter = $('search').value = ''; refilter(); $('search').blur(); return; }
  if (/INPUT|SELECT/.test(document.activeElement.tagName) || e.ctrlKey || e.metaKey || e.altKey) return;
  const at = shown.findIndex(k => view === 'kernel' && k.i === current), go = i => { const k = shown[Math.min(Math.max(i, 0), shown.length - 1)]; if (k) { location.hash = 'kernel-' + k.i; $('list').scrollTop = Math.max(0, (shown.indexOf(k) - 4) * ROW); } };
  const keys = {'/': () => $('search').focus(), j: () => go(at + 1), k: () => go(at - 1), o: () => location.hash = 'overview', t: () => location.hash = 'timeline', g: () => location.hash = 'graph-0', d: toggleTheme, '?': () => $('keys').showModal()};
  if (view === 'timeline') Object.assign(keys, {'+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.4), ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), '0': () => $('all').click()});
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});
refilter();
show();
