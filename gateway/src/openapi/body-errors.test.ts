import { GatewayError } from '../http/errors.ts';
import { type ApiOperation, type JsonObject, operationsOf, readDocument, resolve } from './document.ts';
import { bodyValidator, SchemaCompiler } from './validators.ts';

const document = readDocument('cws_api');
const compiler = new SchemaCompiler('cws_api', document);
const withBody = operationsOf(document).filter(({ bodyRef }) => bodyRef !== undefined);

/** The example bodies of a call in the contract. */
function examplesOf({ path, method }: ApiOperation): unknown[] {
  const item = (document['paths'] as Record<string, Record<string, JsonObject>>)[path];
  const body = resolve(document, item?.[method.toLowerCase()]?.['requestBody']);
  const { examples } = (body['content'] as Record<string, JsonObject>)['application/json'] as JsonObject;
  return Object.values(examples as JsonObject).map((one) => resolve(document, one)['value']);
}

/** A valid value, its pointer, and a function that replaces it. */
interface Location {
  readonly at: string;
  readonly value: unknown;
  put(value: unknown): unknown;
}

function* locations(value: unknown, at = '', put: Location['put'] = (other) => other): Generator<Location> {
  yield { at, value, put };
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    yield* locations(inner, `${at}/${name}`, (other) =>
      put(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other }),
    );
  }
}

const detailOf = (check: (body: unknown) => void, body: unknown): string | undefined => {
  try {
    check(body);
    return undefined;
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code: 'invalid_body', message: 'Invalid request body' });
    return (error as GatewayError).headers['X-Error-Detail'];
  }
};

test.each(withBody.map((call) => [call.operationId, call] as const))(
  '%s: every error in its body is reported with its location and a reason',
  (_, call) => {
    const check = bodyValidator(compiler.ofReference(call.bodyRef as string));
    let refusals = 0;
    for (const example of examplesOf(call)) {
      expect(detailOf(check, example)).toBeUndefined();
      for (const { at, value, put } of locations(example)) {
        const wrong: unknown[] = [1.5, '', 'x '.repeat(3000), '日本', null, true, [], {}];
        const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
        if (isObject) wrong.push({ ...value, unknownField: 1 });
        for (const other of wrong) {
          const detail = detailOf(check, put(other));
          if (detail === undefined) continue;
          refusals += 1;
          expect([put(other), detail]).toEqual([put(other), expect.stringMatching(/^[ -~]+\.$/)]);
          // An empty object lacks its fields, so the reported location is below it.
          expect(detail).toMatch(
            at === '' ? /^(\/|must be|must not be empty|The body must|One of)/ : new RegExp(`^${at}[/ ]`),
          );
          expect(detail).not.toContain('must match');
        }
      }
    }
    expect(refusals).toBeGreaterThan(0);
  },
);
