import { Agent, request } from 'undici';

/** An integrator's access: URLs of the API and of the token endpoint, and the client's credentials. */
export interface ApiAccess {
  readonly apiUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly applicationId: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly body: any;
}

export const allScopes =
  'cws:application:read cws:application:write cws:device:read cws:device:write cws:communication-service';

type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
  signal?: AbortSignal,
) => Promise<ApiAnswer>;

/** An integrator's client: gets access tokens and calls the API. */
export interface ApiClient {
  /** `path` begins with /v1. `body` is sent as JSON; a string is sent unchanged. `signal` aborts the request. */
  call: Call;
  /** Like `call`, with a path relative to the application's path. */
  app: Call;
  token(): Promise<string>;
  close(): Promise<void>;
}

export function createApiClient(
  access: ApiAccess,
  options: { scope?: string; connections?: number } = {},
): ApiClient {
  const agent = new Agent({ connections: options.connections ?? 64, pipelining: 1, headersTimeout: 60_000 });
  let token: { value: string; until: number } | undefined;
  const getToken = async (): Promise<string> => {
    if (token && token.until > Date.now()) return token.value;
    const answer = await request(access.tokenUrl, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${Buffer.from(`${access.clientId}:${access.clientSecret}`).toString('base64')}`,
      },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope: options.scope ?? allScopes,
      }).toString(),
    });
    const body = (await answer.body.json()) as { access_token?: string; expires_in?: number };
    if (!body.access_token) throw new Error(`no token: ${answer.statusCode} ${JSON.stringify(body)}`);
    token = { value: body.access_token, until: Date.now() + ((body.expires_in ?? 60) - 30) * 1000 };
    return body.access_token;
  };
  const client: ApiClient = {
    token: getToken,
    async call(method, path, body, headers = {}, signal = undefined) {
      const answer = await request(access.apiUrl + path, {
        method: method as 'GET',
        dispatcher: agent,
        ...(signal && { signal }),
        headers: {
          authorization: `Bearer ${await getToken()}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      // The token was rejected: the next call gets a new one.
      if (answer.statusCode === 401) token = undefined;
      const text = await answer.body.text();
      let parsed: unknown;
      try {
        parsed = text === '' ? undefined : JSON.parse(text);
      } catch {
        parsed = text;
      }
      return { status: answer.statusCode, headers: answer.headers, body: parsed };
    },
    app: (method, path, body, headers, signal) =>
      client.call(method, `/v1/applications/${access.applicationId}${path}`, body, headers, signal),
    close: () => agent.close(),
  };
  return client;
}
