/** The hints of a tool about its own effects. Where they contradict each other, the more dangerous one counts, everywhere. */

type Annotations = Record<string, unknown> | undefined;

/** A tool that claims to be read-only and destructive at once is destructive. */
export function isReadOnly(annotations: Annotations): boolean {
  return annotations?.readOnlyHint === true && annotations.destructiveHint !== true;
}

/** A tool that says nothing may destroy something. */
export function isHarmless(annotations: Annotations): boolean {
  return isReadOnly(annotations) || annotations?.destructiveHint === false;
}

/** A call runs at most once, unless its server says that twice is as good. */
export function isRepeatable(annotations: Annotations): boolean {
  return isReadOnly(annotations) || annotations?.idempotentHint === true;
}

/** The effects in words; nothing where a tool says what is taken for granted. */
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
