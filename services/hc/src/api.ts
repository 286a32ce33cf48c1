import { randomUUID } from 'node:crypto';
import { CliError, cliExitCodes } from '@headset-cloud/kit/cli/exit-codes.ts';
import { networkReason, neverReached } from '@headset-cloud/kit/cli/network.ts';
import { visible } from '@headset-cloud/kit/cli/output.ts';
import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import { failureReason } from '@headset-cloud/kit/outbound/reason.ts';
import { NoAnswerError, withinTime } from '@headset-cloud/kit/outbound/time-limit.ts';
import type { Credentials } from './credentials.ts';

/** A scope of the API. */
export type Scope = 'cws:application:read' | 'cws:application:write' | 'cws:device:read';

/** A query; what is undefined is left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** The API as a client of one application calls it. */
export interface Api {
  readonly applicationId: string;
  /** Reads below the application's path, such as `/events`. */
  get<T>(path: string, query?: Query): Promise<T>;
  /**
   * Changes something, once for one `key` (Idempotency-Key); default: a key of its own. An answer that does not come
   * is told with that key.
   */
  post<T>(path: string, body: object, key?: string): Promise<T>;
}

/** A call that failed. */
export class ApiError extends CliError {
  /** The status of the answer; undefined: there is none, or none of the API. */
  readonly status: number | undefined;
  /** The same call may succeed later. */
  readonly isPassing: boolean;
  /** How long the API asks to wait before; milliseconds. */
  readonly retryAfterMs: number | undefined;
  constructor(
    exitCode: number,
    message: string,
    more: { status?: number; isPassing?: boolean; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(exitCode, message, { cause: more.cause });
    this.name = 'ApiError';
    this.status = more.status;
    this.isPassing = more.isPassing ?? false;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** Waits of one command for its share (429) end after this time in all. */
const mostWaitMs = 30_000;
/** A token is not used in the last part of its life. */
const tokenMarginMs = 30_000;

/** `scopes`: what the tokens may do; `timeoutMs` is of one request. */
export function createApi(
  credentials: Credentials,
  options: { readonly scopes: readonly Scope[]; readonly timeoutMs: number; readonly time?: Time },
): Api {
  const { apiUrl, applicationId } = credentials;
  const { timeoutMs, time = systemTime } = options;
  let token: { readonly value: string; readonly untilMs: number } | undefined;

  const currentToken = async (): Promise<string> => {
    if (credentials.accessToken !== undefined) return credentials.accessToken;
    if (token && time.now() < token.untilMs) return token.value;
    const { accessToken, lifetimeMs } = await fetchToken(credentials, options.scopes, timeoutMs, time);
    token = { value: accessToken, untilMs: time.now() + lifetimeMs - tokenMarginMs };
    return accessToken;
  };

  const once = async (method: string, url: string, body: string | undefined, key: string | undefined) => {
    const bearer = await currentToken();
    const request = {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body }),
    };
    return exchange('The API', apiUrl, timeoutMs, url, request, time);
  };

  async function call<T>(
    method: string,
    path: string,
    query: Query,
    body?: object,
    key?: string,
  ): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)] as [string, string]],
    );
    const search = given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
    const url = `${apiUrl}/v1/applications/${encodeURIComponent(applicationId)}${path}${search}`;
    const text = body && JSON.stringify(body);
    const beganMs = time.now();
    let hasNewToken = false;
    for (;;) {
      let answer: Answer;
      try {
        answer = await once(method, url, text, key);
      } catch (error) {
        if (key !== undefined && error instanceof ApiError && error.isPassing && !neverReached(error)) {
          throw new ApiError(
            error.exitCode,
            `${error.message}\nThe call may have taken effect. To repeat it without doing it twice: --idempotency-key ${key}`,
            { cause: error },
          );
        }
        throw error;
      }
      if (isSuccess(answer)) return answer.json as T;
      // Revoked, or the issuer's keys have changed: what is new may be good.
      if (answer.status === 401 && !hasNewToken && credentials.accessToken === undefined) {
        token = undefined;
        hasNewToken = true;
        continue;
      }
      const error = refusal(answer, apiUrl, applicationId, key);
      const waitMs = error.retryAfterMs ?? 1000;
      if (answer.status !== 429 || time.now() - beganMs + waitMs > mostWaitMs) throw error;
      await time.sleep(waitMs);
    }
  }

  return {
    applicationId,
    get: (path, query = {}) => call('GET', path, query),
    post: (path, body, key = randomUUID()) => call('POST', path, {}, body, key),
  };
}

/** The token endpoint that an issuer names (OpenID Connect Discovery). */
export async function tokenEndpointOf(issuer: string, timeoutMs: number): Promise<string> {
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`;
  const answer = await exchange('The issuer', issuer, timeoutMs, url, { method: 'GET' });
  const found = answer.json as { issuer?: unknown; token_endpoint?: unknown } | undefined;
  if (answer.status !== 200 || typeof found?.token_endpoint !== 'string') {
    throw new CliError(
      cliExitCodes.refused,
      `${url} answers ${answer.status} and names no token_endpoint. Give it yourself: --token-url URL`,
    );
  }
  if (String(found.issuer).replace(/\/+$/, '') !== issuer.replace(/\/+$/, '')) {
    throw new CliError(
      cliExitCodes.refused,
      `${url} is of another issuer, ${JSON.stringify(found.issuer)}. Name the issuer exactly as its tokens do.`,
    );
  }
  return found.token_endpoint;
}

async function fetchToken(
  { tokenUrl = '', clientId = '', clientSecret = '' }: Credentials,
  scopes: readonly Scope[],
  timeoutMs: number,
  time: Time,
): Promise<{ accessToken: string; lifetimeMs: number }> {
  // RFC 6749, 2.3.1: both are form-encoded before they are put together.
  const encoded = (text: string) => new URLSearchParams({ t: text }).toString().slice(2);
  const basic = Buffer.from(`${encoded(clientId)}:${encoded(clientSecret)}`).toString('base64');
  const request = {
    method: 'POST',
    headers: {
      authorization: `Basic ${basic}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: scopes.join(' ') }).toString(),
  };
  const answer = await exchange('The token endpoint', tokenUrl, timeoutMs, tokenUrl, request, time);
  const told = (answer.json ?? {}) as Readonly<Record<string, unknown>>;
  const accessToken = told['access_token'];
  if (answer.status === 200 && typeof accessToken === 'string') {
    const seconds = Number(told['expires_in'] ?? 60);
    return { accessToken, lifetimeMs: (Number.isFinite(seconds) ? seconds : 60) * 1000 };
  }
  const reason = [told['error'], told['error_description']]
    .filter((one) => typeof one === 'string')
    .join(': ');
  if (answer.status === 429 || answer.status >= 500) {
    throw new ApiError(
      cliExitCodes.unreachable,
      `The token endpoint ${tokenUrl} answers ${answer.status}${reason && `: ${visible(reason)}`}.`,
      { status: answer.status, isPassing: true, ...waitOf(answer) },
    );
  }
  const what =
    told['error'] === 'invalid_scope'
      ? `does not give the client ${clientId} the scope ${scopes.join(' ')}. Have it allowed`
      : `refuses the client ${clientId} and its secret. Run hc login with the right ones`;
  throw new ApiError(
    cliExitCodes.unauthenticated,
    `The token endpoint ${tokenUrl} ${what} (${answer.status}${reason && `, ${visible(reason)}`}).`,
  );
}

/** An answer of a server. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined: the body is no JSON. */
  readonly json: unknown;
}

/** One request. Redirects are not followed: secrets and tokens are for the server that was named. */
async function exchange(
  who: string,
  base: string,
  timeoutMs: number,
  url: string,
  init: RequestInit,
  time: Time = systemTime,
): Promise<Answer> {
  const load = async (signal: AbortSignal): Promise<Answer> => {
    const answer = await fetch(url, { ...init, redirect: 'manual', signal });
    const text = await answer.text();
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: answer.status, headers: answer.headers, json };
  };
  try {
    return await withinTime(timeoutMs, `${who} at ${base} did not answer`, load, time);
  } catch (cause) {
    const reason =
      cause instanceof NoAnswerError
        ? `${cause.message}.`
        : `${who} cannot be reached at ${base} (${networkReason(cause) ?? visible(failureReason(cause))}).`;
    throw new ApiError(
      cliExitCodes.unreachable,
      `${reason} See whether the address is right and the platform runs.`,
      { isPassing: true, cause },
    );
  }
}

/** The API's answers are objects, and tell their request's id: another server at its address is not believed. */
function isSuccess({ status, headers, json }: Answer): boolean {
  return (
    status >= 200 &&
    status < 300 &&
    headers.has('x-request-id') &&
    typeof json === 'object' &&
    json !== null &&
    !Array.isArray(json)
  );
}

function waitOf({ headers }: Answer): { retryAfterMs?: number } {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? { retryAfterMs: Math.ceil(seconds * 1000) } : {};
}

/** What an answer that is no success means, and what to do. */
function refusal(answer: Answer, apiUrl: string, applicationId: string, key: string | undefined): ApiError {
  const { status, headers } = answer;
  const told = (answer.json as { message?: unknown } | undefined)?.message;
  const isApi = typeof told === 'string' && headers.has('x-request-id');
  if (!isApi) {
    const isPassing = status === 429 || status >= 500;
    return new ApiError(
      cliExitCodes.unreachable,
      `What answers at ${apiUrl} is not the API: status ${status}${isPassing ? '; it may be away' : ''}. Run hc login with the right address.`,
      { status, isPassing, ...waitOf(answer) },
    );
  }
  const detail = headers.get('x-error-detail');
  const message = `${visible(told)}${detail === null ? '' : `: ${visible(detail)}`}`;
  const asked = `(${status}, request ${visible(headers.get('x-request-id') ?? '')})`;
  const more = { status, ...waitOf(answer) };
  switch (status) {
    case 401:
      return new ApiError(
        cliExitCodes.unauthenticated,
        `The API at ${apiUrl} does not accept the access token: ${message} ${asked}. Is it of another issuer, or has it expired? Run hc login, or renew HC_ACCESS_TOKEN.`,
        more,
      );
    case 403:
      return new ApiError(
        cliExitCodes.refused,
        `${message} ${asked}. Is ${applicationId} an application of this client's developer, and may the client use the scope?`,
        more,
      );
    case 429:
      return new ApiError(cliExitCodes.refused, `${message} ${asked}. Try again later.`, {
        ...more,
        isPassing: true,
      });
    default: {
      const isPassing = status >= 500;
      const again = isPassing
        ? key === undefined
          ? '. Try again later.'
          : `. Try again later; to be sure that it is not done twice: --idempotency-key ${key}`
        : '';
      return new ApiError(
        status === 503 ? cliExitCodes.unreachable : cliExitCodes.refused,
        `${message} ${asked}${again}`,
        { ...more, isPassing },
      );
    }
  }
}
