import type { Call } from './types.ts';

/** A call's body, which has been validated, as the type of its schema. */
export function bodyOf<T>({ body }: Pick<Call, 'body'>): T {
  return body?.value as T;
}
