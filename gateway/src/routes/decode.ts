import type { Call } from './types.ts';

/** A call's body, which fits the document, as the type that its schema says. */
export function bodyOf<T>({ body }: Pick<Call, 'body'>): T {
  return body?.value as T;
}
