import { DomainError, type ErrorCode } from '@headset-cloud/runtime/errors.ts';

/** An error of the gateway itself, with the headers of its answer. */
export class GatewayError extends DomainError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(code, message);
    this.name = 'GatewayError';
    this.headers = headers;
  }
}

/** The message of every body that fails validation (specification API 8, rule A4). */
export const invalidBodyMessage = 'Invalid request body';

const detailLimit = 256;

/** Converts a text to printable ASCII of limited length, which is valid as a header value. */
export function headerText(text: string): string {
  const ascii = text.replace(/[‘’]/g, "'").replace(/[^ -~]/g, '?');
  return ascii.length <= detailLimit ? ascii : `${ascii.slice(0, detailLimit - 3)}...`;
}

/**
 * Error 400 with the JSON pointer and the reason in X-Error-Detail (rule A4). An empty pointer means the whole body.
 */
export function invalidBody(pointer: string, reason: string): GatewayError {
  return new GatewayError('invalid_body', invalidBodyMessage, {
    'X-Error-Detail': headerText(pointer === '' ? reason : `${pointer} ${reason}`),
  });
}

/** Error 401 with the challenge of RFC 6750. `reason` contains no part of the token. */
export function unauthenticated(reason?: string): GatewayError {
  const challenge = reason ? `Bearer error="invalid_token", error_description="${reason}"` : 'Bearer';
  return new GatewayError(
    'unauthenticated',
    reason ? `Authentication failed: ${reason}.` : 'Authentication failed: no access token was given.',
    { 'WWW-Authenticate': challenge },
  );
}
