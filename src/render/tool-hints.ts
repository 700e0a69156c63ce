/** Reads the annotations of a tool about its effects. If they contradict each other, the more dangerous one counts. */

type Annotations = Record<string, unknown> | undefined;

/** True if a tool is read-only; a tool that claims to be both read-only and destructive is destructive. */
export function isReadOnly(annotations: Annotations): boolean {
  return annotations?.readOnlyHint === true && annotations.destructiveHint !== true;
}

/** True if a tool is not destructive; a tool without annotations may be destructive. */
export function isHarmless(annotations: Annotations): boolean {
  return isReadOnly(annotations) || annotations?.destructiveHint === false;
}

/** True if a call may be repeated; any other call is sent at most once. */
export function isRepeatable(annotations: Annotations): boolean {
  return isReadOnly(annotations) || annotations?.idempotentHint === true;
}

/** Returns the effects as words; omits those that equal the defaults of MCP. */
export function effectsInWords(annotations: NonNullable<Annotations>): string[] {
  if (isReadOnly(annotations)) return ['read-only'];
  const { destructiveHint, idempotentHint } = annotations;
  const words = [
    destructiveHint === true && 'destructive',
    destructiveHint === false && 'not destructive',
    idempotentHint === true && 'idempotent',
  ];
  return words.filter((word) => word !== false);
}
