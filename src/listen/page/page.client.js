/** Runs the status page: loads the status, follows the events and renders. The token is only kept in a variable. */

/** Milliseconds between two status requests, and after an event that may have changed the status. */
const EVERY = 10_000;
const SOON = 300;
/** Milliseconds before a lost stream is opened again; doubles up to the maximum. */
const RETRY = { first: 500, most: 10_000 };
const MAX_CALLS = 100;
const MAX_TOOLS = 50;
const MAX_READINGS = 6;

let token;
/** Stops the event stream. */
let following = new AbortController();

/** Thrown if the gateway rejects the token or requires one. */
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
    // The function that reads the event stream reports a lost connection.
    if (seen.status === undefined) $($('gate').hidden ? 'about' : 'refused').textContent = say('unreachable');
  }
  draw();
}

/** The next status request; many events lead to one request, which later events do not postpone. */
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

/** The timer that loads the estimated tokens again after a change of the lists. */
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

/** Shows the token form and clears all data of the previous token. */
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

/** Reads the event stream until it is aborted; a lost stream is opened again, which also sends the status. */
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

/** Handles an event: the first is the status, the others are changes. */
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

/** Adds or updates the row of a call. */
function note(call) {
  const known = seen.calls.findIndex(({ id }) => id === call.id);
  seen.calls = known >= 0 ? seen.calls.with(known, call) : [call, ...seen.calls].slice(0, MAX_CALLS);
}

/** Calls that ended while the page was disconnected must not be shown as running. */
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

/** Stores the language; without local storage it is lost when the page is closed. */
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
    // At the token form, the user retries.
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
