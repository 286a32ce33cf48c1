import {
  type ApiOperation,
  apiDocuments,
  type JsonObject,
  operationsOf,
  readDocument,
  resolve,
} from '../openapi/document.ts';
import { SchemaCompiler } from '../openapi/validators.ts';

/** An HTTP answer that a test received; header names in lower case. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Returns an answer's deviations from the document; empty if there are none. */
export type AnswerCheck = (method: string, path: string, answer: HttpAnswer) => string[];

/** Checks answers against cws_api.yaml and cws_extension.yaml: documented status, headers and body. */
export function answerCheck(): AnswerCheck {
  const described = apiDocuments.flatMap((name) => {
    const document = readDocument(name);
    const compiler = new SchemaCompiler(name, document);
    return operationsOf(document).map((operation): Described => ({ operation, document, compiler }));
  });
  const specified = new SchemaCompiler('cws_api', readDocument('cws_api'));
  const errorBody = specified.ofReference('#/components/schemas/Error');
  const requestIdForm = /^[A-Za-z0-9._-]{1,128}$/;

  return (method, path, answer) => {
    const problems: string[] = [];
    if (!requestIdForm.test(answer.headers['x-request-id'] ?? '')) problems.push('no X-Request-Id');
    const found = findOperation(described, method, path);
    if (!found) {
      if (![403, 405].includes(answer.status))
        problems.push(`${answer.status} for a call that is not documented`);
      if (method !== 'HEAD' && !errorBody(JSON.parse(answer.text))) problems.push(`body ${answer.text}`);
      return problems;
    }
    const { operation, document, compiler } = found;
    const response = operation.responses[String(answer.status)];
    if (!response) return [...problems, `${answer.status} is not documented for ${operation.operationId}`];
    const content = (response['content'] as Record<string, { schema: JsonObject }> | undefined)?.[
      'application/json'
    ];
    if (answer.headers['content-type'] !== 'application/json') problems.push('not application/json');
    const validate = compiler.ofReference(String(content?.schema['$ref']));
    if (!validate(JSON.parse(answer.text)))
      problems.push(`body ${answer.text}: ${JSON.stringify(validate.errors)}`);
    return [...problems, ...headerProblems(document, compiler, response, answer)];
  };
}

function headerProblems(
  document: JsonObject,
  compiler: SchemaCompiler,
  response: JsonObject,
  answer: HttpAnswer,
): string[] {
  const headers = (response['headers'] ?? {}) as Record<string, unknown>;
  return Object.entries(headers).flatMap(([name, value]) => {
    const header = resolve(document, value);
    const text = answer.headers[name.toLowerCase()];
    if (text === undefined) return header['required'] ? [`no header ${name}`] : [];
    const schema = header['schema'] as JsonObject;
    const given = schema['type'] === 'integer' ? Number(text) : text;
    return compiler.ofSchema(schema)(given) ? [] : [`header ${name}: ${text}`];
  });
}

/** A call, and the document that describes it. */
interface Described {
  readonly operation: ApiOperation;
  readonly document: JsonObject;
  readonly compiler: SchemaCompiler;
}

function findOperation(described: readonly Described[], method: string, path: string): Described | undefined {
  const plain = path.split('?')[0] ?? '';
  const matches = described.filter(({ operation }) =>
    new RegExp(`^${operation.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(plain),
  );
  // Like in the gateway, a literal path takes precedence over a path with a parameter, for every method.
  const paths = matches.map(({ operation }) => operation.path);
  const best = paths.toSorted((a, b) => a.split('{').length - b.split('{').length)[0];
  return matches.find(({ operation }) => operation.path === best && operation.method === method);
}
