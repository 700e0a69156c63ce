/** Types of the build scripts, for the tests; the scripts themselves are plain JavaScript. */
declare module '*/scripts/release/macho.mjs' {
  export function segmentLayout(bytes: Buffer): Map<string, string>;
  export function signAdHoc(bytes: Buffer, identifier: string): Buffer;
  export function signatureProblems(bytes: Buffer): string[];
}
declare module '*/scripts/release/tar.mjs' {
  export function tarEntries(archive: Buffer): Iterable<{ name: string; data: Buffer }>;
  export function readFromTar(archive: Buffer, name: string): Buffer | undefined;
}
declare module '*/scripts/release/node.mjs' {
  export interface Pin {
    package?: string;
    download?: string;
    binary: string;
    integrity: string;
    sha256: string;
  }
  export function nodeLock(): { version: string; targets: Record<string, Pin> };
  export function verifyIntegrity(bytes: Buffer, integrity: string, subject: string): void;
  export function pinnedNode(target: string): Promise<{ file: string; version: string }>;
}
declare module '*/scripts/release/node-release.mjs' {
  export function verifySha256(bytes: Buffer, expected: string, subject: string): void;
  export function releasedNode(
    pin: { download: string; binary: string; sha256: string },
    options: { version: string; folder: string; dist?: string },
  ): Promise<string>;
}
declare module '*/scripts/release/icon.mjs' {
  export function drawIcon(size: number): Buffer;
}
declare module '*/scripts/release/stamp.mjs' {
  export function hashInputs(root?: string, tools?: string[]): string;
  export function isFresh(folder: string, name: string, inputs: string): boolean;
  export function writeStamp(folder: string, name: string, build: { inputs: string; outputs: string[] }): void;
}
declare module '*/scripts/setup.mjs' {
  export function installState(root: string): 'stamp' | 'record' | 'missing';
  export function ensureInstalled(root?: string): Promise<void>;
}
declare module '*/scripts/release/lock-file.mjs' {
  export function withLockFile<T>(file: string, work: () => Promise<T>): Promise<T>;
}
declare module '*/scripts/release/sea.mjs' {
  interface SeaConfig {
    main: string;
    output: string;
    disableExperimentalSEAWarning: boolean;
    useSnapshot: boolean;
    useCodeCache: boolean;
    execArgv: string[];
    execArgvExtension: string;
    assets: Record<string, string>;
  }
  export function seaTemplate(): SeaConfig;
  export function seaConfig(template: SeaConfig, options: { cached: boolean }): SeaConfig;
}
declare module '*/scripts/release/bundle.mjs' {
  export function bundle(folder: string): Promise<{ metafile: { inputs: Record<string, unknown> }; source: string }>;
  interface Metafile {
    inputs?: Record<string, unknown>;
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  }
  export const SIZE_LIMIT: number;
  export function inAscii(code: string): string;
  export function packageOf(path: string): string;
  export function sizesByPackage(metafile: Metafile): [string, number][];
  export function sizeReport(metafile: Metafile, bytes: number): string;
}
declare module '*/scripts/release/notices.mjs' {
  export function bundledFolders(metafile: { inputs: Record<string, unknown> }): string[];
  export function notices(
    metafile: { inputs: Record<string, unknown> },
    options: { version: string; licence?: string; buildFolder: string },
  ): string;
}
declare module '*/scripts/packages/wine.mjs' {
  export function wineProblem(said?: string): string | undefined;
}

declare module '*/scripts/release/smoke.mjs' {
  export function smoke(executable: string, target: string, runner?: string[]): Promise<void>;
}
declare module '*/scripts/project.mjs' {
  export function at(...parts: string[]): string;
  export const ROOT: string;
  export const TARGETS: string[];
  export function projectVersion(): string;
  export function sha256(data: Buffer | string): string;
  export function hostTarget(platform?: string, arch?: string): string;
  export function executableName(target: string, options: { named: boolean }): string;
  export function expectedVersionLine(target: string, nodeVersion: string): string;
}
declare module '*/scripts/release/build.mjs' {
  export function chosenTargets(names: string[], host?: string): string[];
}
declare module '*/scripts/start.mjs' {
  export function mcpxArguments(args: string[]): string[];
  export function runForeground(command: string, args: string[]): Promise<number>;
}
declare module '*/scripts/test.mjs' {
  interface Counts {
    passed: number;
    failed: number;
    skipped: number;
  }
  interface Report {
    numPassedTests: number;
    numFailedTests: number;
    numPendingTests: number;
    numTodoTests: number;
    testResults: { status: string; assertionResults: { status: string; fullName: string }[] }[];
  }
  export function testRuns(args: string[]): { name: string; args: string[] }[];
  export function skippedTests(
    report: { testResults: { assertionResults: { status: string; fullName: string }[] }[] },
    options?: { platform?: string; clients?: string[] },
  ): string[];
  export function countTests(report: Report): Counts;
  export function summaryLine(counts: Counts[]): string;
  export function outcomeOf(
    code: number,
    report: Report | undefined,
    options?: { noSkip?: boolean; clients?: string[] },
  ): { counts: Counts; forbidden: string[]; code: number };
  export function testEnvironment(
    env: Record<string, string | undefined>,
    isTerminal: boolean,
  ): Record<string, string | undefined>;
}
declare module '*/scripts/bench/stop.mjs' {
  export function report(rows: { name: string; ms: number; promised: number }[]): { text: string; over: boolean };
}
declare module '*/scripts/npm.mjs' {
  export function npmCommand(
    env?: Record<string, string | undefined>,
    platform?: string,
  ): { command: string; args: string[]; shell: boolean };
}
declare module '*/scripts/release/strip.mjs' {
  export function stripElf(bytes: Buffer): Buffer;
}
declare module '*/scripts/bench/start.mjs' {
  interface Row {
    name: string;
    wall: number;
    cpu: number;
  }
  export function comparisons(
    rows: Row[],
    compared: { name: string; base: string; times: number }[],
  ): { over: boolean; text: string }[];
  export function median(values: number[]): number;
  export function table(rows: Row[], bars: Record<string, number>): string;
}
declare module '*/scripts/bench/lookup.mjs' {
  export function table(
    title: string,
    rows: { name: string; longest: number; total: number; wall: number; resident: number }[],
  ): string;
}

declare module '*/scripts/bench/peer-programs.mjs' {
  export const NPM_PEERS: { package: string }[];
}

declare module '*/scripts/bench/peers.mjs' {
  interface Sample {
    perSecond: number;
    cpu: number;
  }
  interface Row extends Sample {
    name: string;
    rounds: number;
    perSecondRatio: number;
    cpuRatio: number;
  }
  export function summarize(rounds: Record<string, Sample>[]): Row[];
  export function table(way: string, rows: Row[]): string;
  export function overview(ways: Record<string, Row[]>): string;
}

declare module '*/scripts/bench/memory.mjs' {
  interface Row {
    name: string;
    values: number[];
    first: number;
    growth: number;
    over: boolean;
  }
  type Moment = Record<string, number>;
  export function rowsOf(
    called: { idle: Moment; warm: Moment; calls: Moment },
    restarted: { warm: Moment; restarts: Moment },
    bars: Record<string, { first?: number; growth: number }>,
  ): Row[];
  export function table(title: string, rows: Row[]): string;
}
declare module '*/scripts/bench/soak-calls.mjs' {
  interface Failure {
    at: number;
    client: string;
    server: string;
    message: string;
  }
  interface Call {
    client: string;
    place: string;
    server: string;
    from: number;
    problem?: string | undefined;
    answered?: boolean;
  }
  interface Journal {
    counts: { calls: number; excused: number; failed: number; faults: Record<string, number> };
    failures: Failure[];
    begin(kind: string, place: string, server: string): () => void;
    record(call: Call): void;
  }
  export function createJournal(now?: () => number): Journal;
  export function readAnswer(answer: unknown): { text?: string; problem?: string };
}
declare module '*/scripts/bench/soak-samples.mjs' {
  interface Look extends Record<string, unknown> {
    'memory MB': number;
    handles: number;
    children: number;
    names: Record<string, number>;
  }
  interface Row {
    process: string;
    number: string;
    over: boolean;
    difference?: string;
  }
  export function descendants(pid: number, parents: Map<number, number>): number[];
  export function rowsOf(
    processes: { name: string; first: Look; most: Omit<Look, 'names'>; last: Look }[],
    bars?: Record<string, number>,
  ): Row[];
  export function table(rows: Row[], bars?: Record<string, number>): string;
}
declare module '*/scripts/bench/soak.mjs' {
  export function verdict(results: {
    failed: number;
    rows: { process: string; number: string; over: boolean }[];
  }): string;
}
declare module '*/scripts/bench/load.mjs' {
  interface Sample {
    us: number;
    perSecond: number;
    cpu: number;
  }
  interface Row extends Sample {
    target: string;
    added: number;
    addedRatio: number;
    perSecondRatio: number;
  }
  interface Bars {
    added: number;
    perSecond: number;
    growth: number;
  }
  export function summarize(samples: Record<string, Sample[]>): Row[];
  export function missed(
    results: {
      ways: Record<string, Pick<Row, 'target' | 'addedRatio' | 'perSecondRatio'>[]>;
      large: { way: string; target: string; growth: number }[];
    },
    bars?: Bars,
  ): string[];
  export function table(way: string, rows: Row[]): string;
}
declare module '*/scripts/conformance/conformance.mjs' {
  interface Row {
    scenario: string;
    passed: number;
    failed: number;
    warned: number;
    complaints: string[];
    scored: boolean;
  }
  export function rowsOf(
    results: { scenario: string; checks: { id?: string; status: string; errorMessage?: string }[] }[],
    free?: Set<string>,
  ): Row[];
  export function unscored(printed: string): Set<string>;
  export function report(title: string, rows: Row[]): string;
}
declare module '*/scripts/bench/tokens.mjs' {
  interface Row {
    name: string;
    value: number;
    most?: number;
    over: boolean;
  }
  export function quantile(values: number[], share: number): number;
  export function summaryOf(measured: {
    raw: number;
    menu: number;
    servers: { inspected: number; definitions: number }[];
    tools: number[];
    tasks: { cost: number; found: boolean }[];
  }): Record<string, number>;
  export function judge(summary: Record<string, number>, bars: Record<string, { most: number }>): Row[];
  export function tableOf(title: string, rows: Row[]): string;
  export function tasksOf(
    catalogs: { name: string; tools: { name: string }[] }[],
  ): { server: string; tool: string; query: string }[];
}
declare module '*/scripts/bench/token-catalogs.mjs' {
  interface Catalog {
    name: string;
    tools: Record<string, unknown>[];
    instructions?: string;
  }
  export function readCatalogs(folder: string): Catalog[];
  export function madeUpCatalogs(): Catalog[];
  export function serveCatalogs(catalogs: Catalog[]): Promise<{ url: string; close(): Promise<void> }>;
}
declare module '*/scripts/bench/task-world.mjs' {
  export interface TaskCall {
    query: string;
    tool: string;
    arguments: Record<string, unknown>;
    answer: unknown;
    from?: Record<string, string>;
    reads?: number[];
    after?: number[];
  }
  export interface Task {
    id: string;
    say: string;
    calls: TaskCall[];
  }
  export function readServers(): {
    name: string;
    instructions?: string;
    tools: { name: string; inputSchema: Record<string, unknown>; outputSchema?: Record<string, unknown> }[];
  }[];
  export function readTasks(): Task[];
  export function neededBy(call: Pick<TaskCall, 'from' | 'reads' | 'after'>): number[];
}
declare module '*/scripts/bench/task-policy.mjs' {
  import type { Task } from '*/scripts/bench/task-world.mjs';
  export function directTurns(task: Task, style: string): number;
  export function hitsIn(text: string): string[];
  export function shows(read: string[], tool: string, args: unknown): boolean;
  export function showsResult(read: string[], tool: string, path: string): boolean;
  export function solve(
    task: Task,
    client: { menu: string; call(name: string, input: unknown): Promise<{ text: string; isError?: boolean }> },
    style: string,
  ): Promise<{ turns: number; solved: boolean }>;
}
declare module '*/scripts/bench/tasks.mjs' {
  import type { Task } from '*/scripts/bench/task-world.mjs';

  interface Row {
    id: string;
    calls: number;
    mcpx: { turns: number; tokens: number; solved: boolean };
    direct: { turns: number; tokens: number };
  }
  interface Catalog {
    name: string;
    tools: { name: string; inputSchema: unknown }[];
  }
  export function worldOf(task: Task, servers: Catalog[], size: number): Catalog[];
  export function isDone(task: Task, log: { tool: string; args: unknown }[]): boolean;
  export function summaryOf(rows: Row[]): Record<string, number>;
  export function tableOf(groups: { size: number; style: string; rows: Row[] }[]): string;
}
declare module '*/scripts/bench/token-types.mjs' {
  export function invalidTypes(tools: Record<string, unknown>[]): Promise<{ checked: number; said: string }>;
}
declare module '*/scripts/bench/search-sets.mjs' {
  interface SetOfQuestions {
    servers: { name: string; tools: object[] }[];
    queries: { query: string; want: string[] }[];
  }
  interface Ranks {
    query: string;
    mcpx: number;
    plain: number;
    sum: number;
  }
  type Hits = Record<'mcpx' | 'plain' | 'sum', number[]>;
  export interface SetResult {
    name: string;
    half: string;
    questions: number;
    hits: Hits;
  }
  export function ranksOf(
    set: SetOfQuestions,
    search: (query: string) => Promise<(string | number)[][]>,
  ): Promise<Ranks[]>;
  export function hitsOf(rows: Ranks[]): Hits;
  export function setTable(results: SetResult[]): string;
}
declare module '*/scripts/bench/search.mjs' {
  import type { SetResult } from '*/scripts/bench/search-sets.mjs';
  export function isChineseBelow(results: SetResult[]): boolean;
  interface Row {
    query: string;
    rank: number;
  }
  interface Summary {
    questions: number;
    'recall@1': number | undefined;
    'recall@5': number | undefined;
    MRR: number | undefined;
  }
  export function halfOf(query: string): 'open' | 'held';
  export function languageOf(query: string): 'English' | 'Chinese';
  export function readQueries(
    text: string,
    servers: { name: string; tools: { name: string }[] }[],
  ): { query: string; want: string[] }[];
  export function summaryOf(rows: Row[]): Summary;
  export function groupsOf(rows: Row[]): Record<string, Summary>;
  export function below(groups: Record<string, Summary>): string[];
  export function tableOf(groups: Record<string, Summary>): string;
}
declare module '*/scripts/install-clients.mjs' {
  export function isSilence(said: string): boolean;
}

declare module '*/scripts/shape/shape.mjs' {
  interface Row {
    name: string;
    value: number;
    bar?: number;
    found?: string[];
  }
  export function rowsOf(
    measured: { sources: unknown[]; call: { files: string[]; frames: string[] }; mapLines: number },
    analysis: unknown,
  ): Row[];
  export function isOver(row: Row): boolean;
  export function table(rows: Row[], options?: { verbose?: boolean }): string;
}

declare module '*/scripts/shape/source.mjs' {
  interface Source {
    path: string;
    lines: number;
    functions: number[];
    exported: string[];
    imports: string[];
    comments: string[];
  }
  export function parseSource(path: string, text: string): Source;
  export function readSources(folder: string): Source[];
  export function lacksSubject(sentence: string): boolean;
  export function opaqueNames(sources: Source[]): string[];
  export function duplicateNames(sources: Source[]): string[];
  export function importCycles(sources: Source[]): string[][];
}
declare module '*/scripts/packages/archives.mjs' {
  export interface Entry {
    name: string;
    data?: Buffer;
    mode?: number;
  }
  export function tar(entries: Entry[], mtime: number): Buffer;
  export function gzip(bytes: Buffer): Buffer;
  export function zip(entries: (Entry & { data: Buffer })[], mtime: number): Buffer;
}
declare module '*/scripts/packages/deb.mjs' {
  export function debVersion(version: string): string;
  export function deb(target: string, files: { name: string; system: string; data: Buffer; mode?: number }[]): Buffer;
}
declare module '*/scripts/packages/packages.mjs' {
  export function packRelease(options: {
    dist: string;
    build: string;
    targets: string[];
    repository: string;
    fast?: boolean;
    draft?: boolean;
  }): Promise<string>;
}
declare module '*/scripts/packages/rpm.mjs' {
  export function placed<T extends { system: string }>(files: T[]): T[];
  export function spec(files: { system: string }[]): string;
}
declare module '*/scripts/packages/checksums.mjs' {
  export function writeSums(folder: string): Map<string, string>;
  export function readSums(text: string): Map<string, string>;
  export function verifySums(folder: string): Map<string, string>;
}
declare module '*/scripts/packages/channels.mjs' {
  export interface Facts {
    version: string;
    archive(target: string, ending: string): { name: string; sha256: string; url: string } | undefined;
  }
  export function releaseFacts(sums: Map<string, string>, options: { repository: string; version?: string }): Facts;
  export function homebrewFormula(facts: Facts): string;
  export function scoopManifest(facts: Facts): string;
  export function wingetManifests(facts: Facts): Record<string, string>;
  export function writeChannels(folder: string, options: { repository: string; version?: string }): string[];
}
declare module '*/scripts/packages/release-notes.mjs' {
  export function releaseNotes(version: string, options?: { changelog?: string; draft?: boolean }): string;
  export function isPrerelease(version: string): boolean;
}
declare module '*/scripts/language/messages.mjs' {
  export const FOLDERS: string[];
  export function textsOf(path: string, source: string): string[];
  export function sourceTexts(folders?: string[]): Map<string, string[]>;
  export function untranslated(): [text: string, files: string[]][];
  export function chinese(): Record<string, string>;
}
declare module '*/scripts/packages/contents.mjs' {
  export const EXTRAS: string[];
  export function extras(script: string): { name: string; system: string; data: Buffer }[];
}
declare module '*/scripts/packages/npm-package.mjs' {
  export const NPM_NAME: string;
  export function npmPackage(dist: string, buildFolder: string): Promise<Buffer>;
}
declare module '*/scripts/packages/sbom.mjs' {
  export function sbom(
    metafile: { inputs: Record<string, unknown> },
    options: { lock: unknown; nodeFile: string; time: number },
  ): string;
}
declare module '*/scripts/shape/call.mjs' {
  export function measureCallCost(front: 'aggregate' | 'compact'): Promise<{ functions: number; bytes: number }>;
  export function measureStartWrites(servers: number): Promise<{ first: number; second: number }>;
}
