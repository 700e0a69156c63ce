/** Renders the status page. All data is set as text, so that no output of a server can become markup. */

/** The state of the page; code that changes it must call a draw function. */
const seen = {
  language: 'en',
  /** The state of the event stream: linking, live or lost. */
  link: 'linking',
  status: undefined,
  /** Estimated tokens of the initial context, by profile. */
  readings: new Map(),
  /** The tools that a search found; undefined without a search. */
  tools: undefined,
  /** Calls, the newest first. */
  calls: [],
};

const $ = (id) => document.getElementById(id);

for (const one of document.querySelectorAll('[data-t]')) WORDS.en[one.dataset.t] = one.textContent;

const say = (key, ...values) => {
  const word = WORDS[seen.language][key] ?? key;
  return typeof word === 'function' ? word(...values) : word;
};
const number = (value) => value.toLocaleString(seen.language);
const countOfTools = (count) => say('toolCount', count, number(count));

function element(tag, { text, className, ...rest } = {}, ...children) {
  const made = Object.assign(document.createElement(tag), rest);
  if (className !== undefined) made.className = className;
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
}

const quiet = (text, ...children) => element('p', { className: 'quiet', text }, ...children);
const mark = (kind, text) => element('span', { className: `mark ${kind ?? ''}`, text });

/** Renders an element only if its data has changed, so that a text selection in it is kept. */
const drawn = new Map();
function fill(id, shown, make) {
  const key = JSON.stringify([seen.language, shown]);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  $(id).replaceChildren(...make());
}

function duration(seconds) {
  const units = [
    ['day', 86_400],
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ];
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['second', 1];
  return new Intl.NumberFormat(seen.language, { style: 'unit', unit, unitDisplay: 'long' }).format(
    Math.floor(seconds / size),
  );
}

function draw() {
  document.documentElement.lang = seen.language;
  for (const one of document.querySelectorAll('[data-t]')) one.textContent = say(one.dataset.t);
  $('language').textContent = say('other');
  $('language').lang = seen.language === 'en' ? 'zh' : 'en';
  drawLink();
  if (seen.status === undefined) return;
  $('about').textContent = say('about', seen.status.version, duration(seen.status.uptime));
  drawProblems();
  drawReadings();
  drawSavings();
  drawServers();
  drawCalls();
  drawProfiles();
  drawTools();
}

function drawLink() {
  $('link').hidden = seen.status === undefined;
  $('link').className = `mark ${{ live: 'good', linking: '', lost: 'bad' }[seen.link]}`;
  // A screen reader announces every write, so unchanged text is not written again.
  if ($('link').textContent !== say(seen.link)) $('link').textContent = say(seen.link);
}

/** Renders faults of mcpx itself, such as an audit log that cannot be written. */
function drawProblems() {
  const { problems = [] } = seen.status;
  $('problems-card').hidden = problems.length === 0;
  fill('problems', problems, () => problems.map((text) => element('li', { text })));
}

function drawReadings() {
  const all = [...seen.readings].filter(([, { tools }]) => tools > 0);
  const head = all.length === 0 ? [] : [quiet(say('reads'))];
  fill('readings', all, () => [
    ...head,
    ...all.map(([profile, reading]) => drawReading(all.length > 1 ? profile : '', reading)),
  ]);
}

function drawReading(profile, { tools, without, with: now, deferring }) {
  const share = Math.min(1, now / without);
  const bar = element('span', {});
  bar.style.width = `${100 * share}%`;
  const less = now < without ? say('less', Math.round(100 * (1 - share))) : say('notLess');
  return element(
    'div',
    { className: profile === '' ? 'reading' : 'reading small' },
    element('p', {
      className: 'big num',
      text: `${profile === '' ? '' : `${profile}: `}${say('tokens', number(now))}`,
    }),
    element('div', { className: 'meter', ariaHidden: 'true' }, bar),
    element('p', { className: 'quiet num', text: `${say('insteadOf', number(without), number(tools))}${less}` }),
    ...deferring.map((one) =>
      element('p', { className: 'quiet num', text: say('defers', one.client, number(one.with), number(one.without)) }),
    ),
  );
}

function drawSavings() {
  const { tokens, since, menus, reencoded, lookups } = seen.status.savings;
  const day = new Date(since).toLocaleDateString(seen.language, { dateStyle: 'long' });
  const counted = menus + reencoded + lookups > 0;
  $('saved').className = counted ? 'big num' : 'big quiet';
  $('saved').textContent = counted ? say('tokens', number(tokens.net)) : say('nothingYet');
  const parts = [
    say('since', day),
    ...(menus > 0 ? [say('byMenus', number(tokens.menus), number(menus))] : []),
    ...(reencoded > 0 ? [say('byResults', number(tokens.results), number(reencoded))] : []),
    ...(lookups > 0 ? [say('byLookups', number(-tokens.lookups), number(lookups))] : []),
  ];
  fill('parts', parts, () => parts.map((text) => element('li', { text })));
}

const MARKS = { ready: 'good', connecting: 'wait', backoff: 'bad' };

/** True for a server whose tools could not be listed, in any state of its connection. */
const isBroken = ({ state, reason }) => state === 'backoff' || (reason !== undefined && state !== 'disabled');

function drawState(server) {
  const { reason, nextTry, mend, check } = server;
  const state = isBroken(server) ? 'backoff' : server.state;
  const lines = [element('p', {}, mark(MARKS[state], say(state)))];
  if (reason !== undefined) lines.push(quiet(reason));
  if (nextTry !== undefined) {
    const countdown = element('p', { className: 'quiet num' });
    countdown.dataset.until = nextTry;
    lines.push(countdown);
  }
  if (isBroken(server) && mend !== undefined && mend !== check) lines.push(quiet(`${say('mend')} ${mend}`));
  if (isBroken(server) && check !== undefined) lines.push(quiet(`${say('retry')} `, element('code', { text: check })));
  return element('div', {}, ...lines);
}

/** Updates the time until the next retry of each server; called once a second. */
function drawCountdowns() {
  for (const one of document.querySelectorAll('[data-until]')) {
    const seconds = Math.ceil((Date.parse(one.dataset.until) - Date.now()) / 1000);
    one.textContent = seconds > 0 ? say('nextTry', seconds) : say('tryingNow');
  }
}

function drawServers() {
  const { profiles } = seen.status;
  const all = profiles.flatMap(({ enabled, servers }) => (enabled ? servers : []));
  const usable = all.filter((server) => server.state !== 'disabled' && !isBroken(server));
  $('servers-count').textContent = all.length === 0 ? '' : say('usable', usable.length, all.length);
  fill('servers', profiles, () =>
    profiles.some(({ servers }) => servers.length > 0)
      ? profiles.flatMap((profile) => drawProfile(profile, profiles.length > 1))
      : [element('p', { className: 'card pad', text: say('noServers') })],
  );
  drawCountdowns();
}

/** Renders a profile; servers with a failure come first. */
function drawProfile({ name, enabled, servers }, several) {
  const inOrder = [...servers.filter(isBroken), ...servers.filter((server) => !isBroken(server))];
  const rows = inOrder.map((server) =>
    element(
      'li',
      {},
      element('b', { className: 'code', text: server.name }),
      drawState(server),
      element('span', {
        className: 'right quiet num',
        text: server.tools === 0 ? '' : countOfTools(server.tools),
      }),
    ),
  );
  const title = several ? [element('h3', { text: `${say('profile')}: ${name}` })] : [];
  const list = enabled
    ? element('ul', { className: 'card rows servers' }, ...rows)
    : element('p', { className: 'card pad' }, mark('', say('profileOff')));
  return [...title, list];
}

const OUTCOMES = { ok: 'good', running: 'wait', unseen: '' };

function drawCalls() {
  $('no-calls').hidden = seen.calls.length > 0;
  $('calls').hidden = seen.calls.length === 0;
  const several = (seen.status?.profiles.length ?? 0) > 1;
  fill('calls', seen.calls, () =>
    seen.calls.map(({ at, server, name, outcome, ms, profile, token }) => {
      const who = [...(several ? [profile] : []), ...(token === undefined ? [] : [token])].join(', ');
      return element(
        'li',
        {},
        element('span', { className: 'num quiet', text: new Date(at).toLocaleTimeString(seen.language) }),
        element('span', {}, element('span', { className: 'code', text: `${server}.${name}` }), ' ', quietSpan(who)),
        mark(OUTCOMES[outcome] ?? 'bad', say(outcome === 'refused' ? 'refusedCall' : outcome)),
        element('span', { className: 'right num', text: ms === undefined ? '' : `${number(Math.round(ms))} ms` }),
      );
    }),
  );
}

const quietSpan = (text) => element('span', { className: 'quiet', text });

function drawProfiles() {
  const names = seen.status.profiles.filter(({ enabled }) => enabled).map(({ name }) => name);
  const chosen = $('profile').value || names[0];
  fill('profile', names, () =>
    names.map((name) => element('option', { value: name, text: name, selected: name === chosen })),
  );
  $('profile').hidden = names.length < 2;
  document.querySelector('label[for=profile]').hidden = names.length < 2;
}

function drawTools() {
  const { tools, status } = seen;
  const all = status?.profiles.find(({ name }) => name === $('profile').value)?.servers ?? [];
  const count = all.reduce((sum, server) => sum + server.tools, 0);
  const found = tools?.length === 0 ? say('noneFound') : countOfTools(tools?.length ?? 0);
  const hint = count === 0 ? '' : say('searchHint', countOfTools(count));
  $('found').textContent = tools === undefined ? hint : found;
  fill('tools', tools ?? [], () =>
    (tools ?? []).map(({ server, name, signature, description }) =>
      element(
        'li',
        {},
        element('p', { className: 'code' }, element('b', { text: `${server}.${name}` })),
        element('p', { className: 'quiet short', text: description ?? '' }),
        element('pre', { className: 'code', text: signature ?? '' }),
      ),
    ),
  );
}
