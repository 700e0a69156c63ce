/** Turns validation errors into messages: a JSON path, and the problem at that path. */
import type { ErrorObject } from 'ajv';
import { isCredentialName } from '../config/redact.ts';
import { isSchema } from '../render/schema-refs.ts';
import { clean, cut, nearest } from '../render/text.ts';
import { pointerKeys } from './healing.ts';
import { withoutSecrets } from './redact-arguments.ts';
import { oneBranch } from './union-branch.ts';

export interface Problem {
  /** A path such as `items[0].name`; empty for the arguments as a whole. */
  path: string;
  message: string;
}

const MAX_PROBLEMS = 100;
const MAX_ERRORS = 500;
const MAX_VALUE = 60;
const MAX_CHOICES = 20;

export function validationErrorsOf(errors: ErrorObject[]): Problem[] {
  const told = new Map<string, Problem>();
  for (const error of simplify(oneBranch(errors.slice(0, MAX_ERRORS)))) {
    const problem = describe(error);
    told.set(`${problem.path}\n${problem.message}`, problem);
  }
  return foldItems([...told.values()]).slice(0, MAX_PROBLEMS);
}

/** Merges problems that differ only in the index of a list: `items[0].id` and `items[2].id` become `items[0, 2].id`. */
function foldItems(problems: Problem[]): Problem[] {
  const folded = new Map<string, { problem: Problem; indexes: string[] }>();
  for (const problem of problems) {
    const index = INDEX.exec(problem.path)?.[1];
    const same = index === undefined ? problem.path : problem.path.replace(INDEX, '[]');
    const key = `${same}\n${problem.message.replace(/, got .*$/s, '')}`;
    const known = folded.get(key);
    if (known === undefined) folded.set(key, { problem, indexes: index === undefined ? [] : [index] });
    else if (index !== undefined) known.indexes.push(index);
  }
  return [...folded.values()].map(({ problem, indexes }) =>
    indexes.length < 2 ? problem : { ...problem, path: problem.path.replace(INDEX, `[${someIndexes(indexes)}]`) },
  );
}

/** Matches the last index of a path. */
const INDEX = /\[(\d+)\](?!.*\[\d+\])/;
const MAX_INDEXES = 4;

function someIndexes(indexes: string[]): string {
  const all = [...new Set(indexes)];
  if (all.length <= MAX_INDEXES) return all.join(', ');
  return `${all.slice(0, MAX_INDEXES - 1).join(', ')} … ${all.at(-1)}`;
}

/** Merges the types expected at one path into one problem, and replaces a failed alternative by its own errors. */
function simplify(errors: ErrorObject[]): ErrorObject[] {
  const types = new Map<string, string[]>();
  for (const { keyword, instancePath, params } of errors) {
    if (keyword === 'type') types.set(instancePath, [...(types.get(instancePath) ?? []), ...[params.type].flat()]);
  }
  const told = errors.filter((error) => !isSummary(error, errors));
  const isExplainedBelow = (path: string) => told.some((error) => error.instancePath.startsWith(`${path}/`));
  return told
    .filter(({ keyword, instancePath }) => keyword !== 'type' || !isExplainedBelow(instancePath))
    .map((error) =>
      error.keyword === 'type' ? { ...error, params: { type: [...new Set(types.get(error.instancePath))] } } : error,
    );
}

/** True for "must match a schema in anyOf" and the like, if another error explains it. */
function isSummary({ keyword, instancePath, params }: ErrorObject, errors: ErrorObject[]): boolean {
  if (keyword === 'if') return true;
  if (!['anyOf', 'oneOf'].includes(keyword) || Array.isArray(params.passingSchemas)) return false;
  return errors.some((error) => error.keyword !== keyword && error.instancePath.startsWith(instancePath));
}

function describe(error: ErrorObject): Problem {
  const keys = pointerKeys(error.instancePath);
  const { missingProperty } = error.params;
  if (error.keyword === 'required' && typeof missingProperty === 'string') {
    return { path: pathOf([...keys, missingProperty]), message: `missing${givenInstead(error, missingProperty)}` };
  }
  const words = WORDS.get(error.keyword) ?? plainWords;
  return { path: pathOf(keys), message: words(error, keys.find(isCredentialName) ?? '') };
}

/** Names an undeclared key that resembles the missing one, or the only undeclared key if nothing else is missing. */
function givenInstead({ data, parentSchema }: ErrorObject, missing: string): string {
  const declared = isSchema(parentSchema?.properties) ? parentSchema.properties : {};
  const given = isSchema(data) ? data : {};
  const undeclared = Object.keys(given).filter((key) => !Object.hasOwn(declared, key));
  const needed = Array.isArray(parentSchema?.required) ? parentSchema.required : [];
  const isOnly =
    isSchema(parentSchema?.properties) &&
    undeclared.length === 1 &&
    needed.filter((key) => !Object.hasOwn(given, key)).length === 1;
  const [near] = isOnly ? undeclared : nearest(missing, undeclared, 1);
  return near === undefined ? '' : `; you gave ${quote(near)}`;
}

/**
 * `secret` is the part of the path that names a credential, or empty; the message must not contain the value of a
 * credential.
 */
type Words = (error: ErrorObject, secret: string) => string;

const WORDS: ReadonlyMap<string, Words> = new Map<string, Words>([
  [
    'type',
    ({ params, data }, secret) => `must be ${[params.type].flat().join(' or ')}, got ${kindAndValue(data, secret)}`,
  ],
  [
    'enum',
    ({ params, data }, secret) =>
      `must be one of ${choices(params.allowedValues)}${got(data, secret)}${meant(data, params.allowedValues)}`,
  ],
  ['const', ({ params, data }, secret) => `must be ${show(params.allowedValue)}${got(data, secret)}`],
  ['pattern', ({ params, data }, secret) => `must match /${clean(String(params.pattern))}/${got(data, secret)}`],
  ['additionalProperties', (error) => unknownProperty(error, error.params.additionalProperty)],
  ['unevaluatedProperties', (error) => unknownProperty(error, error.params.unevaluatedProperty)],
  ['anyOf', () => 'must fit one of the allowed forms'],
  ['oneOf', ({ params }) => `must fit ${Array.isArray(params.passingSchemas) ? 'only ' : ''}one of the allowed forms`],
  ['not', () => 'has a form that is not allowed'],
  ['false schema', () => 'is not allowed'],
  ['propertyNames', ({ params }) => `has a key that is not allowed: ${quote(String(params.propertyName))}`],
]);

function plainWords({ message = 'does not fit', data }: ErrorObject, secret: string): string {
  const plain = message.replaceAll('NOT', 'not');
  return typeof data === 'object' ? plain : plain + got(data, secret);
}

function unknownProperty({ parentSchema }: ErrorObject, name: unknown): string {
  const declared = isSchema(parentSchema?.properties) ? Object.keys(parentSchema.properties) : [];
  const [near] = nearest(String(name), declared, 1);
  const hint = near === undefined ? '' : `; did you mean ${quote(near)}?`;
  return `unknown property ${quote(String(name))}${hint}`;
}

function choices(values: unknown): string {
  const all = Array.isArray(values) ? values : [];
  const shown = all.slice(0, MAX_CHOICES).map(show).join(', ');
  return all.length > MAX_CHOICES ? `${shown} and ${all.length - MAX_CHOICES} more` : shown;
}

function meant(data: unknown, values: unknown): string {
  if (typeof data !== 'string' || !Array.isArray(values)) return '';
  const texts = values.filter((value) => typeof value === 'string');
  const [near] = nearest(data, texts, 1);
  return near === undefined ? '' : `; did you mean ${quote(near)}?`;
}

function kindAndValue(value: unknown, secret: string): string {
  if (value === null) return 'null';
  const kind = Array.isArray(value) ? 'array' : typeof value;
  return secret === '' ? `${kind} ${show(value)}` : kind;
}

function got(value: unknown, secret: string): string {
  return secret === '' ? `, got ${show(value)}` : '';
}

function show(value: unknown): string {
  return cut(clean(JSON.stringify(withoutSecrets(value)) ?? 'nothing'), MAX_VALUE);
}

function quote(name: string): string {
  return JSON.stringify(cut(clean(name), MAX_VALUE));
}

function pathOf(keys: string[]): string {
  let path = '';
  for (const key of keys) {
    if (/^\d+$/.test(key)) path += `[${key}]`;
    else if (/^[\p{L}_$][\p{L}\p{Nd}_$-]*$/u.test(key)) path += path === '' ? key : `.${key}`;
    else path += `[${quote(key)}]`;
  }
  return path;
}
