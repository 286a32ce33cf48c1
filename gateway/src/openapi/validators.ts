import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { type GatewayError, invalidBody } from '../http/errors.ts';
import type { ApiOperation, ApiParameter, DocumentName, JsonObject } from './document.ts';

/** Compiles schemas of one OpenAPI document. Compiling is slow, so it is done once at start. */
export class SchemaCompiler {
  readonly #ajv: Ajv2020;
  readonly #name: DocumentName;

  constructor(name: DocumentName, document: JsonObject) {
    this.#name = name;
    this.#ajv = new Ajv2020({
      strict: true,
      allowUnionTypes: true,
      strictRequired: false,
      strictTypes: false,
      // Adds the violated schema to each error.
      verbose: true,
    });
    // ajv-formats is CommonJS: its plugin function is the module's `default`.
    formats.default(this.#ajv, ['date-time', 'int32', 'int64']);
    // `URL` accepts control characters and escapes or removes them, but a URI must not contain them (RFC 3986).
    this.#ajv.addFormat('uri', (text) => !/\p{Cc}/u.test(text) && URL.canParse(text));
    for (const word of ['example', 'discriminator', 'xml', 'externalDocs', 'x-error-reason'])
      this.#ajv.addKeyword(word);
    // The document itself is the schema that references point to; its own keywords are not schema keywords.
    this.#ajv.addVocabulary(Object.keys(document));
    this.#ajv.addSchema(document, name, undefined, false);
  }

  /** The validator of a schema of the document, by its reference (`#/components/schemas/…`). */
  ofReference(ref: string): ValidateFunction {
    return this.#ajv.compile({ $ref: `${this.#name}${ref}` });
  }

  /** The validator of a schema without references, such as a parameter's. */
  ofSchema(schema: JsonObject): ValidateFunction {
    return this.#ajv.compile(schema);
  }
}

/** Checks a body. Throws invalid_body with the pointer and the reason (rule A4). */
export type BodyValidator = (body: unknown) => void;

/** `at`: pointer of the checked value within the whole body. */
export function bodyValidator(validate: ValidateFunction, at = ''): BodyValidator {
  return (body) => {
    if (validate(body)) return;
    const errors = validate.errors ?? [];
    throw bodyError(errors.map((e) => ({ ...e, instancePath: at + e.instancePath })));
  };
}

function bodyError(errors: readonly ErrorObject[]): GatewayError {
  // The error at the deepest position in the body belongs to the form of a oneOf that matches best.
  let deepest = errors.at(-1);
  for (const e of errors) {
    if (depth(e) > depth(deepest)) deepest = e;
  }
  if (!deepest) return invalidBody('', 'The body is not valid.');
  const name = (deepest.params['missingProperty'] ?? deepest.params['additionalProperty']) as
    | string
    | undefined;
  const pointer =
    name === undefined ? deepest.instancePath : `${deepest.instancePath}/${escapePointer(name)}`;
  switch (deepest.keyword) {
    case 'required':
      return invalidBody(pointer, 'is required.');
    case 'additionalProperties':
      return invalidBody(pointer, 'is not a known field.');
    case 'oneOf':
      return oneOfError(deepest, errors);
    case 'enum':
      return invalidBody(
        pointer,
        `must be one of ${(deepest.params['allowedValues'] as unknown[]).join(', ')}.`,
      );
    case 'pattern':
    case 'format':
      return invalidBody(pointer, `${deepest.parentSchema?.['x-error-reason'] ?? deepest.message}.`);
    case 'type':
      return invalidBody(pointer, `must be ${typeList([deepest.params['type']].flat() as string[])}.`);
    default:
      return invalidBody(pointer, `${lengthRule(deepest) ?? deepest.message ?? 'is not valid'}.`);
  }
}

/** Returns the error for a body that matches no form of a oneOf, or several. `errors`: the first error of each form. */
function oneOfError(oneOf: ErrorObject, errors: readonly ErrorObject[]): GatewayError {
  const forms = oneOf.schema as readonly { properties?: JsonObject }[];
  const [first] = errors;
  if (first?.keyword === 'type') return bodyError([first]);
  const unknown = errors.find(
    ({ keyword, params }) =>
      keyword === 'additionalProperties' &&
      !forms.some(({ properties = {} }) => Object.hasOwn(properties, params['additionalProperty'])),
  );
  if (unknown) return bodyError([unknown]);
  const missing = errors.flatMap(({ params }) => (params['missingProperty'] as string | undefined) ?? []);
  return invalidBody(
    oneOf.instancePath,
    missing.length === forms.length
      ? `One of ${missing.join(', ')} is required.`
      : 'The body must have exactly one of its documented forms.',
  );
}

const typeList = (types: readonly string[]): string =>
  types
    .map((type) => (type === 'null' ? type : `${/^[aio]/.test(type) ? 'an' : 'a'} ${type}`))
    .join(', ')
    .replace(/, (?=[^,]*$)/, ' or ');

/** Required length of a text or list. */
function lengthRule({ keyword, params }: ErrorObject): string | undefined {
  const [, side, what] = /^(min|max)(Length|Items)$/.exec(keyword) ?? [];
  if (side === undefined) return undefined;
  const limit = params['limit'] as number;
  if (side === 'min' && limit === 1) return 'must not be empty';
  const unit = what === 'Length' ? 'character' : 'item';
  return `must have at ${side === 'min' ? 'least' : 'most'} ${limit} ${unit}${limit === 1 ? '' : 's'}`;
}

const depth = (e: ErrorObject | undefined) => e?.instancePath.split('/').length ?? 0;
const escapePointer = (name: string) => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** Reads a parameter's text; undefined if it does not have the documented form. */
export type ParameterReader = (text: string) => string | number | undefined;

/** The reader of a path, query or header parameter: integers in plain decimal digits, otherwise text. */
export function parameterReader(parameter: ApiParameter, compiler: SchemaCompiler): ParameterReader {
  const validate = compiler.ofSchema(parameter.schema);
  const isInteger = parameter.schema['type'] === 'integer';
  return (text) => {
    // Every safe integer has at most 16 digits. The schema's bounds check the value.
    const value = isInteger && /^\d{1,16}$/.test(text) ? Number(text) : text;
    return validate(value) ? value : undefined;
  };
}

/** Reads the query parameters of one call. Throws invalid_argument with the name of the invalid parameter. */
export type QueryReader = (search: string) => Readonly<Record<string, string | number>>;

const noQuery: QueryReader = () => Object.freeze({});

/** Unknown parameters are ignored, or rejected if the document says so. */
export function queryReader(
  { parameters, refusesUnknownQuery }: Pick<ApiOperation, 'parameters' | 'refusesUnknownQuery'>,
  compiler: SchemaCompiler,
): QueryReader {
  const known = parameters
    .filter((p) => p.in === 'query')
    .map((p) => ({
      name: p.name,
      required: p.required,
      schema: p.schema,
      read: parameterReader(p, compiler),
    }));
  if (known.length === 0 && !refusesUnknownQuery) return noQuery;
  const names = new Set(known.map(({ name }) => name));
  return (search) => {
    const given = new URLSearchParams(search);
    const values: Record<string, string | number> = {};
    for (const name of refusesUnknownQuery ? given.keys() : []) {
      if (!names.has(name)) {
        const shown = JSON.stringify(name.slice(0, 40));
        throw new DomainError(
          'invalid_argument',
          `There is no query parameter ${shown}${knownNames(names)}.`,
        );
      }
    }
    for (const { name, required, schema, read } of known) {
      const texts = given.getAll(name);
      if (texts.length > 1)
        throw new DomainError('invalid_argument', `The query parameter ${name} is given twice.`);
      if (required && texts[0] === undefined)
        throw new DomainError('invalid_argument', `The query parameter ${name} is required.`);
      const value = texts[0] === undefined ? (schema['default'] as string | undefined) : read(texts[0]);
      if (value !== undefined) values[name] = value;
      else if (texts[0] !== undefined) {
        throw new DomainError('invalid_argument', `The query parameter ${name} must be ${form(schema)}.`);
      }
    }
    return values;
  };
}

function knownNames(names: ReadonlySet<string>): string {
  return names.size === 0 ? ': this call has none' : `; known parameters: ${[...names].join(', ')}`;
}

function form(schema: JsonObject): string {
  if (schema['format'] === 'date-time') return 'a date and time (RFC 3339)';
  if (schema['enum']) return `one of ${(schema['enum'] as string[]).join(', ')}`;
  if (schema['type'] === 'integer') return `a whole number from ${schema['minimum']} to ${schema['maximum']}`;
  if (schema['pattern']) return `text of the form ${schema['pattern']}`;
  return `text of ${schema['minLength']} to ${schema['maxLength']} characters`;
}
