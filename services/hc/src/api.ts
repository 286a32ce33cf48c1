import { randomUUID } from 'node:crypto';
import { CliError, exitCodes, refusedError } from '@headset-cloud/cli/exit-codes.ts';
import { networkReason, neverReached } from '@headset-cloud/cli/network.ts';
import { visible } from '@headset-cloud/cli/output.ts';
import { failureReason } from '@headset-cloud/outbound/reason.ts';
import { NoAnswerError, withinTime } from '@headset-cloud/outbound/time-limit.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Credentials } from './credentials.ts';

/** A scope of the API. */
export type Scope = 'cws:application:read' | 'cws:application:write' | 'cws:device:read';

/** A query; undefined values are left out. */
export type Query = Readonly<Record<string, string | number | undefined>>;

/** The API for a client of one application. */
export interface Api {
  readonly applicationId: string;
  /** Reads below the application's path, such as `/events`. */
  get<T>(path: string, query?: Query): Promise<T>;
  /**
   * Makes a change once per `key` (Idempotency-Key); default: a new key. The error for a missing answer contains the
   * key.
   */
  post<T>(path: string, body: object, key?: string): Promise<T>;
}

/** A call that failed. */
export class ApiError extends CliError {
  /** Status of the answer; undefined if there is no answer, or the answer is not from the API. */
  readonly status: number | undefined;
  /** True if the same call may succeed later. */
  readonly isTransient: boolean;
  /** Wait that the API asks for before a retry; milliseconds. */
  readonly retryAfterMs: number | undefined;
  constructor(
    exitCode: number,
    message: string,
    more: { status?: number; isTransient?: boolean; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(exitCode, message, { cause: more.cause });
    this.name = 'ApiError';
    this.status = more.status;
    this.isTransient = more.isTransient ?? false;
    this.retryAfterMs = more.retryAfterMs;
  }
}

/** Maximum duration of one call, including its waits because of rate limits (429); milliseconds. */
const maxWaitMs = 30_000;
/** A token is renewed this long before it expires; milliseconds. */
const tokenMarginMs = 30_000;

/** `scopes`: scopes of the tokens. `timeoutMs`: time-out of one request. */
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

  const sendOnce = async (
    method: string,
    url: string,
    bearer: string,
    body: string | undefined,
    key: string | undefined,
  ) => {
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
      // A failure of the token endpoint is thrown from here: the call has had no effect.
      const bearer = await currentToken();
      let answer: Answer;
      try {
        answer = await sendOnce(method, url, bearer, text, key);
      } catch (error) {
        if (key !== undefined && error instanceof ApiError && error.isTransient && !neverReached(error)) {
          throw new ApiError(
            error.exitCode,
            `${error.message}\nThe call may have taken effect. To repeat it safely: --idempotency-key ${key}`,
            { cause: error },
          );
        }
        throw error;
      }
      if (isSuccess(answer)) return answer.json as T;
      // The token was revoked, or the issuer's keys have changed. A new token may be valid.
      if (answer.status === 401 && !hasNewToken && credentials.accessToken === undefined) {
        token = undefined;
        hasNewToken = true;
        continue;
      }
      const error = refusal(answer, apiUrl, applicationId, key);
      const waitMs = error.retryAfterMs ?? 1000;
      if (answer.status !== 429 || time.now() - beganMs + waitMs > maxWaitMs) throw error;
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
    throw refusedError(
      `${url} answers ${answer.status} and contains no token_endpoint. Set it with --token-url URL`,
    );
  }
  if (String(found.issuer).replace(/\/+$/, '') !== issuer.replace(/\/+$/, '')) {
    throw refusedError(
      `${url} belongs to another issuer, ${JSON.stringify(found.issuer)}. Give the issuer exactly as in its tokens.`,
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
  // RFC 6749, 2.3.1: client id and secret are form-encoded before they are joined.
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
  const body = (answer.json ?? {}) as Readonly<Record<string, unknown>>;
  const accessToken = body['access_token'];
  if (answer.status === 200 && typeof accessToken === 'string') {
    const seconds = Number(body['expires_in'] ?? 60);
    return { accessToken, lifetimeMs: (Number.isFinite(seconds) ? seconds : 60) * 1000 };
  }
  const reason = [body['error'], body['error_description']]
    .filter((one) => typeof one === 'string')
    .join(': ');
  if (answer.status === 429 || answer.status >= 500) {
    throw new ApiError(
      exitCodes.unreachable,
      `The token endpoint ${tokenUrl} answers ${answer.status}${reason && `: ${visible(reason)}`}.`,
      { status: answer.status, isTransient: true, ...waitOf(answer) },
    );
  }
  const what =
    body['error'] === 'invalid_scope'
      ? `does not give the client ${clientId} the scope ${scopes.join(' ')}. Ask for the scope to be allowed`
      : `rejects the client ${clientId} and its secret. Run hc login with the correct client and secret`;
  throw new ApiError(
    exitCodes.unauthenticated,
    `The token endpoint ${tokenUrl} ${what} (${answer.status}${reason && `, ${visible(reason)}`}).`,
  );
}

/** An answer of a server. */
interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
}

/** Sends one request. Redirects are not followed, because secrets and tokens are only for the given server. */
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
    throw new ApiError(exitCodes.unreachable, `${reason} Check the address, and whether the platform runs.`, {
      isTransient: true,
      cause,
    });
  }
}

/** The API's answers are objects and have a request id. Answers of another server at the address are rejected. */
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

/** The error for an answer that is not a success, with the next step for the user. */
function refusal(answer: Answer, apiUrl: string, applicationId: string, key: string | undefined): ApiError {
  const { status, headers } = answer;
  const apiMessage = (answer.json as { message?: unknown } | undefined)?.message;
  const isApi = typeof apiMessage === 'string' && headers.has('x-request-id');
  if (!isApi) {
    const isTransient = status === 429 || status >= 500;
    return new ApiError(
      exitCodes.unreachable,
      `The server at ${apiUrl} is not the API: status ${status}${isTransient ? '; the API may be unavailable' : ''}. Run hc login with the correct address.`,
      { status, isTransient, ...waitOf(answer) },
    );
  }
  const detail = headers.get('x-error-detail');
  const message = `${visible(apiMessage)}${detail === null ? '' : `: ${visible(detail)}`}`;
  const statusAndRequest = `(${status}, request ${visible(headers.get('x-request-id') ?? '')})`;
  const more = { status, ...waitOf(answer) };
  switch (status) {
    case 401:
      return new ApiError(
        exitCodes.unauthenticated,
        `The API at ${apiUrl} does not accept the access token: ${message} ${statusAndRequest}. The token may be from another issuer or expired. Run hc login, or renew HC_ACCESS_TOKEN.`,
        more,
      );
    case 403:
      return new ApiError(
        exitCodes.refused,
        `${message} ${statusAndRequest}. Is ${applicationId} an application of this client's developer, and may the client use the scope?`,
        more,
      );
    case 429:
      return new ApiError(exitCodes.refused, `${message} ${statusAndRequest}. Try again later.`, {
        ...more,
        isTransient: true,
      });
    default: {
      const isTransient = status >= 500;
      const again = isTransient
        ? key === undefined
          ? '. Try again later.'
          : `. Try again later; to avoid a duplicate: --idempotency-key ${key}`
        : '';
      return new ApiError(
        status === 503 ? exitCodes.unreachable : exitCodes.refused,
        `${message} ${statusAndRequest}${again}`,
        { ...more, isTransient },
      );
    }
  }
}
