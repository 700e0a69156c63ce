/** The status page at work: asks for the status, follows the events, draws both. The token lives in a variable and nowhere else. */

const $ = (id) => document.getElementById(id);

/** ms between two looks at the status, and after an event that may have changed it. */
const EVERY = 10_000;
const SOON = 300;
/** ms before a lost stream is asked for again; doubles up to the bound. */
const RETRY = { first: 500, most: 10_000 };
const MAX_CALLS = 100;
const MAX_TOOLS = 50;

let language = (localStorage.getItem('language') ?? navigator.language).startsWith('zh') ? 'zh' : 'en';
let token;
let link = 'linking';
let status;
let tools;
/** Newest first. */
let calls = [];

for (const one of document.querySelectorAll('[data-t]')) WORDS.en[one.dataset.t] = one.textContent;

/** The gateway refused the token, or wants one. */
class Locked extends Error {}

const say = (key, ...values) => {
  const word = WORDS[language][key] ?? key;
  return typeof word === 'function' ? word(...values) : word;
};
const number = (value) => value.toLocaleString(language);

/** Text only, so that nothing that a server said of itself can become markup. */
function element(tag, { text, className, ...rest } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), rest);
  if (className !== undefined) made.className = className;
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const cell = (content, className) =>
  content instanceof Node
    ? element('td', { className: className ?? '' }, content)
    : element('td', { text: content, className: className ?? '' });

async function ask(path, options = {}) {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const response = await fetch(path, { ...options, headers });
  if (response.status === 401) throw new Locked();
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return response;
}

function duration(seconds) {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ];
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['second', 1];
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(
    Math.floor(seconds / size),
  );
}

function draw() {
  document.documentElement.lang = language;
  for (const one of document.querySelectorAll('[data-t]')) one.textContent = say(one.dataset.t);
  $('language').textContent = say('other');
  $('language').lang = language === 'en' ? 'zh' : 'en';
  drawLink();
  if (status === undefined) return;
  $('about').textContent = say('about', status.version, duration(status.uptime));
  drawSavings();
  drawServers();
  drawCalls();
  drawProfiles();
  drawTools();
}

function drawLink() {
  $('link').hidden = status === undefined;
  $('link').textContent = say(link);
  $('link').className = `mark ${{ live: 'good', linking: '', lost: 'bad' }[link]}`;
}

function drawSavings() {
  const { tokens, since, menus, reencoded, lookups } = status.savings;
  const day = new Date(since).toLocaleDateString(language, { dateStyle: 'long' });
  $('saved').textContent = tokens.net > 0 ? say('savedTokens', number(tokens.net)) : say('nothingSaved');
  const parts = [
    say('since', day),
    ...(menus > 0 ? [say('byMenus', number(tokens.menus), number(menus))] : []),
    ...(reencoded > 0 ? [say('byResults', number(tokens.results), number(reencoded))] : []),
    ...(lookups > 0 ? [say('byLookups', number(-tokens.lookups), number(lookups))] : []),
  ];
  $('parts').replaceChildren(...parts.map((text) => element('li', { text })));
}

const MARKS = { ready: 'good', connecting: 'wait', backoff: 'bad' };

/** A server that could not be listed is not available, whatever its connection does. */
const isBroken = ({ state, reason }) => state === 'backoff' || (reason !== undefined && state !== 'disabled');

function drawState(server) {
  const { name, reason, nextTry, mend } = server;
  const state = isBroken(server) ? 'backoff' : server.state;
  const cell = element('td', {}, element('span', { className: `mark ${MARKS[state] ?? ''}`, text: say(state) }));
  if (reason !== undefined) cell.append(element('p', { className: 'quiet', text: reason }));
  if (nextTry !== undefined) {
    const seconds = Math.max(0, Math.ceil((Date.parse(nextTry) - Date.now()) / 1000));
    cell.append(element('p', { className: 'quiet num', text: say('nextTry', seconds) }));
  }
  if (!isBroken(server)) return cell;
  if (mend !== undefined) cell.append(element('p', { className: 'quiet', text: `${say('mend')} ${mend}` }));
  const command = element('code', { text: `mcpx tools ${name}` });
  cell.append(element('p', { className: 'quiet', text: `${say('retry')} ` }, command));
  return cell;
}

function drawServers() {
  const all = status.profiles.flatMap(({ enabled, servers }) => (enabled ? servers : []));
  const usable = all.filter((server) => server.state !== 'disabled' && !isBroken(server));
  $('servers-count').textContent = all.length === 0 ? '' : say('usable', usable.length, all.length);
  const several = status.profiles.length > 1;
  const parts = status.profiles.map((profile) => drawProfile(profile, several));
  $('servers').replaceChildren(...(all.length === 0 ? [element('p', { text: say('noServers') })] : parts));
}

function drawProfile({ name, enabled, servers }, several) {
  const head = ['name', 'state', 'toolCount'].map((key) =>
    element('th', { scope: 'col', className: key === 'toolCount' ? 'right' : '', text: say(key) }),
  );
  const rows = servers.map((server) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row', className: 'code', text: server.name }),
      drawState(enabled ? server : { state: 'profileOff' }),
      cell(number(server.tools), 'right num'),
    ),
  );
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows));
  const title = several ? [element('h3', { text: `${say('profile')}: ${name}` })] : [];
  return element('div', {}, ...title, element('div', { className: 'card scroll' }, table));
}

const OUTCOMES = { ok: 'good', running: 'wait' };

function drawCalls() {
  $('no-calls').hidden = calls.length > 0;
  $('calls').replaceChildren(
    ...calls.map(({ at, server, name, outcome, ms }) =>
      element(
        'tr',
        {},
        cell(new Date(at).toLocaleTimeString(language), 'num quiet'),
        cell(`${server}.${name}`, 'code'),
        cell(
          element('span', {
            className: `mark ${OUTCOMES[outcome] ?? 'bad'}`,
            text: say(outcome === 'refused' ? 'refusedCall' : outcome),
          }),
        ),
        cell(ms === undefined ? '' : `${number(Math.round(ms))} ms`, 'right num'),
      ),
    ),
  );
}

function drawProfiles() {
  const names = status.profiles.filter(({ enabled }) => enabled).map(({ name }) => name);
  const chosen = $('profile').value || names[0];
  $('profile').replaceChildren(
    ...names.map((name) => element('option', { value: name, text: name, selected: name === chosen })),
  );
  $('profile').hidden = names.length < 2;
  document.querySelector('label[for=profile]').hidden = names.length < 2;
}

function drawTools() {
  $('found').textContent = tools === undefined ? '' : say('found', tools.length);
  $('tools').replaceChildren(
    ...(tools ?? [])
      .slice(0, MAX_TOOLS)
      .map(({ server, name, signature, description }) =>
        element(
          'li',
          {},
          element('div', { className: 'code' }, element('b', { text: `${server}.` }), signature ?? name),
          element('div', { className: 'quiet', text: (description ?? '').split('\n')[0] }),
        ),
      ),
  );
}

async function refresh() {
  try {
    status = await (await ask('/api/status')).json();
    $('gate').hidden = true;
    $('board').hidden = false;
  } catch (error) {
    if (error instanceof Locked) return lock();
    link = 'lost';
    if (status === undefined) $('about').textContent = say('unreachable');
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
    if (status !== undefined) refreshIn(EVERY);
  }, delay);
  planned = { at, timer };
}

/** Asks for a token; whatever was shown with another one is forgotten. */
function lock() {
  const wasRefused = token !== undefined;
  token = undefined;
  status = undefined;
  tools = undefined;
  calls = [];
  clearTimeout(planned.timer);
  planned = { at: Number.POSITIVE_INFINITY };
  $('board').hidden = true;
  $('gate').hidden = false;
  draw();
  $('refused').textContent = wasRefused ? say('refused') : '';
  $('token').focus();
}

/** Follows the events until the page is closed; a lost stream is asked for again, and the status with it. */
async function follow() {
  for (let pause = RETRY.first; status !== undefined; pause = Math.min(2 * pause, RETRY.most)) {
    try {
      const response = await ask('/api/events', { cache: 'no-store' });
      link = 'live';
      pause = RETRY.first;
      await readEvents(response.body);
    } catch (error) {
      if (error instanceof Locked) return lock();
    }
    link = 'lost';
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
    status = data;
    for (const call of data.calls.live) note({ ...call, outcome: 'running' });
    return draw();
  }
  if (event === 'call_began') note({ ...data.call, outcome: 'running' });
  else if (event === 'call_ended') note(data.call);
  drawCalls();
  if (event !== 'call_began') refreshIn(SOON);
}

/** A call is one row from its beginning to its end. */
function note(call) {
  const known = calls.findIndex(({ id }) => id === call.id);
  if (known >= 0) calls[known] = call;
  else calls = [call, ...calls].slice(0, MAX_CALLS);
}

async function search() {
  const query = $('query').value.trim();
  if (query === '') {
    tools = undefined;
    return drawTools();
  }
  const profile = encodeURIComponent($('profile').value);
  try {
    const answer = await (
      await ask(`/api/${profile}/tools?q=${encodeURIComponent(query)}&signatures=true&limit=${MAX_TOOLS}`)
    ).json();
    if ($('query').value.trim() === query) tools = answer.tools;
  } catch (error) {
    if (error instanceof Locked) return lock();
  }
  drawTools();
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
  language = language === 'en' ? 'zh' : 'en';
  localStorage.setItem('language', language);
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
  if (status === undefined) return;
  refreshIn(EVERY);
  void follow();
}

draw();
void begin();
