/** The status page at work: asks for the status, follows the events, and draws. The token lives in a variable and nowhere else. */

/** ms between two looks at the status, and after an event that may have changed it. */
const EVERY = 10_000;
const SOON = 300;
/** ms before a lost stream is asked for again; doubles up to the bound. */
const RETRY = { first: 500, most: 10_000 };
const MAX_CALLS = 100;
const MAX_TOOLS = 50;
const MAX_READINGS = 6;

let token;
/** Ends what follows the gateway. */
let following = new AbortController();

/** The gateway refused the token, or wants one. */
class Locked extends Error {}

async function ask(path, options = {}) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(path, { cache: 'no-store', ...options, headers });
  if (response.status === 401) throw new Locked();
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response;
}

async function refresh() {
  try {
    seen.status = await (await ask('/api/status')).json();
    $('gate').hidden = true;
    $('board').hidden = false;
  } catch (error) {
    if (error instanceof Locked) return lock();
    // Whoever follows the events says that the connection is lost.
    if (seen.status === undefined) $($('gate').hidden ? 'about' : 'refused').textContent = say('unreachable');
  }
  draw();
}

/** Events that come in crowds lead to one look, which none of them puts off. */
let planned = { at: Number.POSITIVE_INFINITY };
function refreshIn(delay) {
  const at = Date.now() + delay;
  if (at >= planned.at) return;
  clearTimeout(planned.timer);
  const timer = setTimeout(async () => {
    planned = { at: Number.POSITIVE_INFINITY };
    await refresh();
    if (seen.status !== undefined) refreshIn(EVERY);
  }, delay);
  planned = { at, timer };
}

/** What a client reads, asked again when lists have changed. */
let reading;
function readIn(delay) {
  clearTimeout(reading);
  reading = setTimeout(async () => {
    const names = (seen.status?.profiles ?? []).filter(({ enabled }) => enabled).map(({ name }) => name);
    for (const name of [...seen.readings.keys()]) if (!names.includes(name)) seen.readings.delete(name);
    for (const name of names.slice(0, MAX_READINGS)) {
      try {
        seen.readings.set(name, await (await ask(`/api/${encodeURIComponent(name)}/tokens`)).json());
      } catch (error) {
        if (error instanceof Locked) return lock();
      }
    }
    if (seen.status !== undefined) drawReadings();
  }, delay);
}

/** Asks for a token; whatever was shown with another one is forgotten. */
function lock() {
  const wasRefused = token !== undefined;
  token = undefined;
  Object.assign(seen, { status: undefined, tools: undefined, calls: [], readings: new Map() });
  following.abort();
  clearTimeout(reading);
  clearTimeout(planned.timer);
  planned = { at: Number.POSITIVE_INFINITY };
  $('about').textContent = '';
  $('query').value = '';
  $('board').hidden = true;
  $('gate').hidden = false;
  draw();
  $('refused').textContent = wasRefused ? say('refused') : '';
  $('token').focus();
}

/** Follows the events until it is told to stop; a lost stream is asked for again, and the status with it. */
async function follow(signal) {
  for (let pause = RETRY.first; !signal.aborted; pause = Math.min(2 * pause, RETRY.most)) {
    try {
      const response = await ask('/api/events', { signal });
      seen.link = 'live';
      pause = RETRY.first;
      await readEvents(response.body);
    } catch (error) {
      if (error instanceof Locked) return lock();
    }
    if (signal.aborted) return;
    seen.link = 'lost';
    drawLink();
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function readEvents(body) {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) readEvent(block);
  }
}

function readEvent(block) {
  const field = (name) =>
    block
      .split('\n')
      .filter((line) => line.startsWith(`${name}: `))
      .map((line) => line.slice(name.length + 2))
      .join('\n');
  const data = field('data');
  if (data !== '') heard(field('event'), JSON.parse(data));
}

/** The first event is the status; every other one says what has changed since. */
function heard(event, data) {
  if (event === 'status') {
    seen.status = data;
    noteLive(data.calls.live);
    readIn(0);
    return draw();
  }
  if (event === 'call_began') note({ ...data.call, outcome: 'running' });
  else if (event === 'call_ended') note(data.call);
  if (event === 'lists' || event === 'reload') readIn(SOON);
  drawCalls();
  if (event !== 'call_began') refreshIn(SOON);
}

/** A call is one row from its beginning to its end. */
function note(call) {
  const known = seen.calls.findIndex(({ id }) => id === call.id);
  seen.calls = known >= 0 ? seen.calls.with(known, call) : [call, ...seen.calls].slice(0, MAX_CALLS);
}

/** Calls that ended while nobody listened must not seem to run. */
function noteLive(live) {
  const ids = new Set(live.map(({ id }) => id));
  seen.calls = seen.calls.map((call) =>
    call.outcome === 'running' && !ids.has(call.id) ? { ...call, outcome: 'unseen' } : call,
  );
  for (const call of live) note({ ...call, outcome: 'running' });
}

async function search() {
  const query = $('query').value.trim();
  if (query === '') {
    seen.tools = undefined;
    return drawTools();
  }
  const profile = encodeURIComponent($('profile').value);
  try {
    const answer = await (
      await ask(`/api/${profile}/tools?q=${encodeURIComponent(query)}&signatures=true&limit=${MAX_TOOLS}`)
    ).json();
    if ($('query').value.trim() === query) seen.tools = answer.tools;
  } catch (error) {
    if (error instanceof Locked) return lock();
  }
  drawTools();
}

/** Where a browser keeps nothing for pages, the choice lasts as long as the page. */
function kept(language) {
  try {
    if (language !== undefined) localStorage.setItem('language', language);
    return localStorage.getItem('language') ?? undefined;
  } catch {
    return undefined;
  }
}

let typing;
$('query').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(search, 150);
});
$('profile').addEventListener('change', search);
$('search').addEventListener('submit', (event) => {
  event.preventDefault();
  void search();
});
$('language').addEventListener('click', () => {
  seen.language = seen.language === 'en' ? 'zh' : 'en';
  kept(seen.language);
  draw();
});
$('gate').addEventListener('submit', async (event) => {
  event.preventDefault();
  token = $('token').value;
  $('token').value = '';
  await begin();
});

async function begin() {
  await refresh();
  if (seen.status === undefined) {
    // At the gate whoever waits tries again.
    if ($('gate').hidden) setTimeout(begin, RETRY.most);
    return;
  }
  refreshIn(EVERY);
  following.abort();
  following = new AbortController();
  void follow(following.signal);
}

seen.language = (kept() ?? navigator.language).startsWith('zh') ? 'zh' : 'en';
setInterval(drawCountdowns, 1000);
if (document.documentElement.dataset.locked === undefined) {
  draw();
  void begin();
} else lock();
