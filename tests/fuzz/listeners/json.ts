import type { ApiClient } from '@headset-cloud/demo/api.ts';
import {
  type ApiOperation,
  apiDocuments,
  type JsonObject,
  operationsOf,
  readDocument,
  resolve,
} from '@headset-cloud/gateway/openapi/document.ts';
import type { Random } from '../../faults/random.ts';
import { answered, exchange, head, strange } from './http.ts';
import { announced, mutatedJson } from './json-text.ts';
import { fuzz } from './listener.ts';
import { expected, spares } from './world.ts';

const keys = ['a', 'x'.repeat(300), '\xff', 'a,b', '"a"'];

/**
 * Bodies of the API: examples of the OpenAPI documents with changed JSON, bytes or framing headers. Changed bodies may
 * still be valid, so they go to the spare applications. The created transactions must be exactly those of 201
 * responses.
 */
// protects against rest/json-broken, rest/json-prototype, rest/json-duplicate, rest/json-nesting, rest/json-texts
// protects against rest/large-body, rest/smuggling, rest/errors-disclosure
export const json = fuzz(
  'changed bodies of every call are rejected or have the effect that their answer reports',
  {
    name: 'json',
    atOnce: 4,
    async open({ stack, spare, settingsOnly }) {
      const examples = examplesOf();
      const { host } = new URL(stack.apiUrl);
      const deviceId = spare.devices[spares.json]?.deviceId ?? '';
      const pathOf = ({ path, method }: ApiOperation, random: Random) =>
        path
          .replace('{applicationId}', method === 'PATCH' ? settingsOnly : spare.applicationId)
          .replace('{deviceId}', deviceId)
          .replace('{webhookId}', 'none')
          .replace('{type}', random.pick(['bluetooth', 'wifi', 'mobile']));
      const before = await transactionsOf(spare.api, deviceId);
      const accepted = new Set<number>();
      /** Cases that closed their side early: the server may treat the client as disconnected and execute the call. */
      let unanswered = 0;
      return {
        async one(random) {
          const [operation, example] = random.pick(examples);
          const hints = random.chance(0.1) ? [['Idempotency-Key', random.pick(keys)] as const] : [];
          const how = announced(mutatedJson(example, random), random);
          const bytes = head(operation.method, pathOf(operation, random), [
            ['Host', host],
            ['Authorization', `Bearer ${await spare.api.token()}`],
            ...hints,
            ...how.headers,
          ]);
          const sent = [bytes, ...how.pieces];
          const answer = await exchange(stack.apiUrl, sent, {
            end: how.end,
            ...(how.isIntact ? {} : { waitMs: 1500 }),
          });
          const { status } = answer;
          if (status === undefined && !how.isIntact) unanswered += 1;
          if (status === 201) {
            const id = transactionIdIn(answer.body);
            if (id !== undefined) accepted.add(id);
          }
          const wrong = strange(answer);
          return {
            sent: Buffer.concat(sent),
            expectsAnswer: how.isIntact,
            ...answered(answer),
            ...(wrong && { wrong }),
          };
        },
        async atEnd() {
          const made = (await transactionsOf(spare.api, deviceId)).difference(before);
          const [more, lost] = [made.difference(accepted), accepted.difference(made)];
          return [
            ...(more.size > unanswered ? [`transactions without an answer: ${[...more].slice(0, 10)}`] : []),
            ...(lost.size > 0
              ? [`transactions of responses that do not exist: ${[...lost].slice(0, 10)}`]
              : []),
          ];
        },
      };
    },
  },
);

function transactionIdIn(body: Buffer): number | undefined {
  try {
    return JSON.parse(body.toString('utf8')).transactionId;
  } catch {
    return undefined;
  }
}

async function transactionsOf(api: ApiClient, deviceId: string): Promise<Set<number>> {
  const ids = new Set<number>();
  for (let page = 1; ; page += 1) {
    const { transactions } = await expected(
      api,
      200,
      'GET',
      `/transactions?deviceId=${deviceId}&perPage=100&page=${page}`,
    );
    for (const { transactionId } of transactions) ids.add(transactionId);
    if (transactions.length < 100) return ids;
  }
}

/** Returns every call with a body, once per example. */
function examplesOf(): [ApiOperation, unknown][] {
  return apiDocuments.flatMap((name) => {
    const document = readDocument(name);
    return operationsOf(document)
      .filter(({ bodyRef }) => bodyRef !== undefined)
      .flatMap((operation) => {
        const paths = document['paths'] as Record<string, Record<string, JsonObject>>;
        const call = paths[operation.path]?.[operation.method.toLowerCase()];
        const body = resolve(document, call?.['requestBody']);
        const content = (body['content'] as Record<string, JsonObject>)['application/json'];
        const found = Object.values((content?.['examples'] ?? {}) as Record<string, unknown>);
        const values = found.map((example) => resolve(document, example)['value']);
        return (values.length > 0 ? values : [{}]).map((value): [ApiOperation, unknown] => [
          operation,
          value,
        ]);
      });
  });
}
