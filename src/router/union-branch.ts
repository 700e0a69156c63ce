/** Reduces the errors of a failed `anyOf` or `oneOf` to those of one alternative: the one that the value was meant for. */
import type { ErrorObject } from 'ajv';

/** Keeps the errors of one alternative of each union. ajv reports a union after its alternatives, so the last one is the outermost. */
export function oneBranch(errors: ErrorObject[]): ErrorObject[] {
  const kept = new Set(errors);
  for (const union of [...errors].reverse()) {
    if (!kept.has(union) || !['anyOf', 'oneOf'].includes(union.keyword)) continue;
    const branches = branchesOf(union, [...kept].slice(0, [...kept].indexOf(union)));
    const chosen = new Set(chosenErrors(branches, union));
    for (const error of branches.flat()) if (!chosen.has(error)) kept.delete(error);
  }
  return [...kept];
}

/** Groups the errors below a union by its alternatives, which ajv tries one after the other. */
function branchesOf({ schemaPath, instancePath }: ErrorObject, before: ErrorObject[]): ErrorObject[][] {
  const branches: ErrorObject[][] = [];
  let key: string | undefined;
  for (const error of before) {
    if (error.instancePath !== instancePath && !error.instancePath.startsWith(`${instancePath}/`)) continue;
    const inPlace = error.schemaPath.startsWith(`${schemaPath}/`);
    // The path of an error in a referenced schema begins at that schema, so it does not tell the alternative.
    if (!inPlace && !error.schemaPath.startsWith('#/')) continue;
    const own = inPlace ? error.schemaPath.slice(schemaPath.length).split('/')[1] : 'reference';
    const current = branches.at(-1);
    if (current === undefined || own !== key || (!inPlace && isNext(error, current, instancePath)))
      branches.push([error]);
    else current.push(error);
    key = own;
  }
  return branches;
}

/** True if the error is of another schema than those before it: of another object as a whole, or the same error again. */
function isNext(error: ErrorObject, current: ErrorObject[], instancePath: string): boolean {
  const whole = current.find((one) => one.instancePath === instancePath);
  if (error.instancePath === instancePath && whole !== undefined) return whole.parentSchema !== error.parentSchema;
  return current.some((one) => one.instancePath === error.instancePath && one.keyword === error.keyword);
}

/** Returns all errors if no alternative has the type of the value, else those of the alternative that fits best. */
function chosenErrors(branches: ErrorObject[][], { instancePath }: ErrorObject): ErrorObject[] {
  const isOther = ({ keyword, instancePath: path }: ErrorObject) => keyword === 'type' && path === instancePath;
  const fitting = branches.filter((errors) => !errors.some(isOther));
  const [best] = fitting.sort((a, b) => misfit(a) - misfit(b));
  return best ?? branches.flat();
}

/** A constant that differs means that another alternative was meant, such as one of another `kind`. */
function misfit(errors: ErrorObject[]): number {
  const wrong = errors.filter(({ keyword }) => keyword === 'const' || keyword === 'enum').length;
  return wrong * 100 + errors.length;
}
