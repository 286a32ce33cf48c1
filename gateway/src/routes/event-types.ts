import type { Answer } from '../http/answer.ts';
import { readEventTypes } from '../openapi/event-types.ts';
import type { Handlers } from './types.ts';

/** The kinds of callbacks, answered from the document only. */
export function eventTypeHandlers(): Handlers {
  const answer: Answer = {
    status: 200,
    json: {
      eventTypes: readEventTypes().map(({ type, summary, destination, schema, examples }) => ({
        ...{ type, summary, destination, schema, examples },
      })),
    },
  };
  return { 'get-v1-applications-event-types': async () => answer };
}
