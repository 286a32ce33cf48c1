import { DomainError } from '@headset-cloud/runtime/errors.ts';
import type { Context } from 'koa';
import { hasNoBody, parseJson, readBytes, requireJson } from './http/body.ts';
import type { JsonText } from './http/json.ts';
import type { ApiOperation } from './openapi/document.ts';
import { bodyValidator, parameterReader, type SchemaCompiler } from './openapi/validators.ts';
import { normalizedPath, requestDigest } from './request-identity.ts';
import type { Call } from './routes/types.ts';

/** The parts of a request other than its path and query. */
export interface Input {
  readonly body: JsonText | undefined;
  readonly idempotency: Call['caller']['idempotency'];
}

const noInput: Promise<Input> = Promise.resolve({ body: undefined, idempotency: undefined });
const noBytes = new Uint8Array(0);
const emptyObject = Buffer.from('{}');

/**
 * Compiles the reader of a call's Idempotency-Key and body. The reader throws invalid_argument, invalid_body or
 * body_too_large; `hold` is as in `readBytes`.
 */
export function inputReader(
  operation: ApiOperation,
  compiler: SchemaCompiler,
  limitBytes: number,
): (ctx: Context, hold: (bytes: number) => void) => Promise<Input> {
  const keyParameter = operation.parameters.find((p) => p.in === 'header' && p.name === 'Idempotency-Key');
  const readKey = keyParameter && parameterReader(keyParameter, compiler);
  const queryNames = operation.parameters.filter((p) => p.in === 'query').map((p) => p.name);
  const check =
    operation.bodyRef === undefined ? undefined : bodyValidator(compiler.ofReference(operation.bodyRef));
  if (!readKey && !check) return () => noInput;

  return async (ctx, hold) => {
    const given = ctx.req.headers['idempotency-key'] as string | undefined;
    const key = given === undefined ? undefined : readKey?.(given);
    if (given !== undefined && readKey && key === undefined) {
      throw new DomainError(
        'invalid_argument',
        'Idempotency-Key must be 1 to 255 printable ASCII characters.',
      );
    }
    const isLeftOut = check !== undefined && !operation.bodyRequired && hasNoBody(ctx.req);
    if (check && !isLeftOut) requireJson(ctx.req);
    // The body of a call without a documented body is read only for an Idempotency-Key, which covers the body (rule
    // A19).
    const mustRead = !isLeftOut && (check !== undefined || key !== undefined);
    const read = mustRead ? await readBytes(ctx.req, ctx.res, limitBytes, hold) : noBytes;
    // A missing body and `{}` are equal, also for the digest of a repeat with the same Idempotency-Key.
    const bytes = isLeftOut ? emptyObject : read;
    const body = check ? parseJson(bytes) : undefined;
    check?.(body?.value);
    const idempotency =
      key === undefined
        ? undefined
        : {
            key: String(key),
            method: ctx.method,
            path: normalizedPath(ctx.path),
            bodySha256: requestDigest(bytes, ctx.querystring, queryNames),
          };
    return { body, idempotency };
  };
}
