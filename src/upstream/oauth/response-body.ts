/** Reads and corrects the JSON in a response of the authorization server before the OAuth library checks it. */

/** Returns the JSON object in a response and leaves the response readable. */
export async function bodyOf(response: Response): Promise<Record<string, unknown> | undefined> {
  try {
    return (await response.clone().json()) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Returns the response of a token endpoint in a form that the library takes. */
export async function tokenResponse(response: Response): Promise<Response> {
  const body = await bodyOf(response);
  if (typeof body !== 'object' || body === null) return response;
  // mcpx does not use id tokens: without them no key has to be fetched to check one.
  const { id_token: idToken, ...rest } = body;
  // Some servers send errors with status 200.
  const isError = response.status === 200 && typeof body.error === 'string' && body.access_token === undefined;
  if (idToken === undefined && !isError) return response;
  return new Response(JSON.stringify(rest), { status: isError ? 400 : response.status, headers: response.headers });
}
