import { type DomainError, errorCatalogue, type ReachedLimit } from '@headset-cloud/runtime/errors.ts';
import type { Context } from 'koa';
import { GatewayError, headerText, invalidBodyMessage } from './errors.ts';

/** A handler's answer: a JSON object, or a JSON text in pieces, which is never completely in memory. */
export type Answer =
  | {
      readonly status: 200 | 201;
      readonly json: object;
      readonly location?: string;
      readonly completeFrom?: string;
    }
  | { readonly status: 200; readonly pieces: AsyncGenerator<string> };

/** Sends a JSON text. */
export function sendJson(ctx: Context, status: number, text: string): void {
  ctx.status = status;
  ctx.set('Content-Type', 'application/json');
  ctx.body = text;
}

const transientCodes = new Set(['unavailable', 'deadline_exceeded', 'database_failed', 'too_many_requests']);
const defaultRetryMs = 1000;

/** Retry-After in whole seconds, at least one, for transient errors (rule A4); otherwise undefined. */
function retryAfter(error: DomainError): string | undefined {
  if (error.retryAfterMs === undefined && !transientCodes.has(error.code)) return undefined;
  return String(Math.max(1, Math.ceil((error.retryAfterMs ?? defaultRetryMs) / 1000)));
}

/** The headers of draft-ietf-httpapi-ratelimit-headers-10 for a reached limit. */
function limitHeaders(
  { policy, quota, windowSeconds, concurrent }: ReachedLimit,
  seconds: string | undefined,
): Record<string, string> {
  const unit = concurrent ? ';qu="concurrent-requests"' : '';
  const window = windowSeconds === undefined ? '' : `;w=${windowSeconds}`;
  return {
    'RateLimit-Policy': `"${policy}";q=${quota}${unit}${window}`,
    RateLimit: `"${policy}";r=0${seconds === undefined ? '' : `;t=${seconds}`}`,
  };
}

/** Sends an error: status by the catalogue, body `{"message"}` and nothing else (rule C12). */
export function sendError(ctx: Context, error: DomainError): void {
  const isBody = error.code === 'invalid_body';
  if (error instanceof GatewayError) ctx.set(error.headers as Record<string, string>);
  else if (isBody && error.message !== invalidBodyMessage)
    ctx.set('X-Error-Detail', headerText(error.message));
  const seconds = retryAfter(error);
  if (seconds !== undefined) ctx.set('Retry-After', seconds);
  if (error.limit) ctx.set(limitHeaders(error.limit, seconds));
  const message = isBody ? invalidBodyMessage : error.message;
  sendJson(ctx, errorCatalogue[error.code].http, JSON.stringify({ message }));
}
