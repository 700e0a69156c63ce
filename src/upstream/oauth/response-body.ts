/** Reads and corrects the JSON in a response before the OAuth library checks it. */

/** Returns the JSON object in a response and leaves the response readable. */
export async function bodyOf(response: Response): Promise<Record<string, unknown> | undefined> {
  try {
    return (await response.clone().json()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** mcpx does not use id tokens: without them no key has to be fetched to check one. */
export function withoutIdToken(body: Record<string, unknown> | undefined, response: Response): Response {
  if (body === undefined || !('id_token' in body)) return response;
  const { id_token: _, ...rest } = body;
  return new Response(JSON.stringify(rest), { status: response.status, headers: response.headers });
}
