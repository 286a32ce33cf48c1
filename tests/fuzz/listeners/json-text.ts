import { gzipSync } from 'node:zlib';
import type { Random } from '../../faults/random.ts';
import { hostileTexts, mutatedBytes, pieces } from './bytes.ts';

/** JSON text in which names may be repeated. `raw`: any text in place of a value. */
type Node = { raw: string } | { list: Node[] } | { members: [string, Node][] };

/** Returns the changed JSON of a value, or another text, sometimes in another encoding. */
export function mutatedJson(example: unknown, random: Random): Buffer {
  let text: string;
  if (random.chance(0.7)) {
    const node = nodeOf(example);
    for (let left = random.pick([1, 1, 2, 3]); left > 0; left -= 1) change(node, random);
    text = write(node);
  } else text = random.pick(texts)(JSON.stringify(example));
  let body: Buffer = Buffer.from(text);
  if (random.chance(0.15)) body = mutatedBytes(body, random);
  if (random.chance(0.05)) body = random.pick(encodings)(body);
  return body;
}

/** Replacements of the whole text. */
const texts: readonly ((text: string) => string)[] = [
  () => '',
  () => ' \n',
  () => 'null',
  () => '0',
  () => '"text"',
  (text) => `[${text}]`,
  (text) => `${text}${text}`,
  (text) => text.slice(0, -1),
  (text) => `${text},`,
  (text) => `\ufeff${text}`,
  (text) => `)]}',\n${text}`,
  (text) => text.replaceAll('"', "'"),
  (text) => `${text.slice(0, -1)},"x":NaN}`,
  () => '['.repeat(20_000),
  () => `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
  () => `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  () => '9'.repeat(60_000),
  () => `{"a":"${'\\u0000'.repeat(10_000)}"}`,
  (text) => `${text.slice(0, -1)},"extras":{${Array.from({ length: 4000 }, (_, i) => `"k${i}":1`).join()}}}`,
  () => 'a=1&b=2',
  () => '<?xml version="1.0"?><a/>',
];

const encodings: readonly ((body: Buffer) => Buffer)[] = [
  (body) => Buffer.from(body.toString('utf8'), 'utf16le'),
  (body) => Buffer.from(body.toString('utf8'), 'latin1'),
  (body) => gzipSync(body),
  (body) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body]),
  (body) => Buffer.concat([body, Buffer.alloc(70_000, ' ')]),
];

function nodeOf(value: unknown): Node {
  if (Array.isArray(value)) return { list: value.map(nodeOf) };
  if (value !== null && typeof value === 'object') {
    return { members: Object.entries(value).map(([name, member]) => [name, nodeOf(member)]) };
  }
  return { raw: JSON.stringify(value) ?? 'null' };
}

function write(node: Node): string {
  if ('raw' in node) return node.raw;
  if ('list' in node) return `[${node.list.map(write).join()}]`;
  return `{${node.members.map(([name, value]) => `${JSON.stringify(name)}:${write(value)}`).join()}}`;
}

function nodesOf(node: Node): Node[] {
  if ('raw' in node) return [node];
  const inner = 'list' in node ? node.list : node.members.map(([, value]) => value);
  return [node, ...inner.flatMap(nodesOf)];
}

const values = [
  ...['1e308', '1e300', '1e18', '0.00001', '8640000000000001'],
  ...[
    'null',
    'true',
    'false',
    '[]',
    '{}',
    '""',
    '0',
    '-0',
    '-0.0',
    '-1',
    '1e400',
    '-1e400',
    '1e-400',
    '1.0',
    '1E+2',
  ],
  ...[
    '2147483648',
    '9007199254740993',
    '18446744073709551616',
    '0.1e1',
    '123456789012345678901234567890',
    '[null]',
  ],
  ...[
    '{"$gt":""}',
    '{"$ne":null}',
    '{"a":{"b":[1,{"c":null}]}}',
    '"\\ud800"',
    '"\\udc00\\ud800"',
    '"\\u0000"',
  ],
];
const names = [
  '__proto__',
  'constructor',
  'toString',
  '$where',
  'a.b',
  '',
  'transactionId',
  'applicationId',
  'x',
  '\u0000',
];

/** Makes one change at a random position of the value. */
function change(root: Node, random: Random): void {
  const node = random.pick(nodesOf(root));
  const value = (): Node => ({
    raw: random.chance(0.6) ? random.pick(values) : JSON.stringify(random.pick(hostileTexts)),
  });
  const list = 'list' in node ? node.list : undefined;
  const members = 'members' in node ? node.members : undefined;
  switch (random.between(0, 7)) {
    case 0:
      if (members && members.length > 0) members.splice(random.between(0, members.length - 1), 1);
      else if (list && list.length > 0) list.splice(random.between(0, list.length - 1), 1);
      return;
    case 1: {
      // A repeated name with the same or a different value.
      const member = members && members.length > 0 ? random.pick(members) : undefined;
      if (member) members?.push([member[0], random.chance(0.5) ? member[1] : value()]);
      return;
    }
    case 2:
      members?.push([random.chance(0.5) ? random.pick(names) : random.pick(hostileTexts), value()]);
      list?.push(value());
      return;
    case 3: {
      // Nesting around the depth limit.
      const depth = random.pick([1, 2, 60, 63, 64, 65, 1000]);
      const inner = write(node);
      replace(node, { raw: `${'['.repeat(depth)}${inner}${']'.repeat(depth)}` });
      return;
    }
    case 4:
      if (list && list.length > 0) {
        const first = list[0] as Node;
        for (let i = random.pick([1, 10, 300]); i > 0; i -= 1) list.push(first);
      }
      return;
    default:
      replace(node, value());
  }
}

function replace(node: Node, by: Node): void {
  for (const key of Object.keys(node)) delete (node as Record<string, unknown>)[key];
  Object.assign(node, by);
}

/** Headers and pieces of a body. Intact: the server must answer. */
export interface Announced {
  readonly headers: readonly (readonly [string, string])[];
  readonly pieces: readonly Buffer[];
  readonly isIntact: boolean;
  readonly end?: boolean;
}

const chunked = (parts: readonly Buffer[]): Buffer[] =>
  [...parts, Buffer.alloc(0)].map((part) =>
    Buffer.concat([Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]),
  );

export function announced(body: Buffer, random: Random): Announced {
  const type = ['Content-Type', 'application/json'] as const;
  const length = (bytes: number | string) => ['Content-Length', String(bytes)] as const;
  const coding = ['Transfer-Encoding', 'chunked'] as const;
  const right: Announced = { headers: [type, length(body.length)], pieces: [body], isIntact: true };
  if (random.chance(0.6)) return right;
  const other = random.pick([
    ...[
      'text/plain',
      'application/xml',
      'application/json; charset=utf-16',
      'application/json;charset="utf-8"',
      '',
    ],
    ...[
      'application/json, text/plain',
      'application/JSON',
      'multipart/form-data; boundary=a',
      'x'.repeat(1000),
    ],
  ]);
  switch (random.between(0, 8)) {
    case 0:
      return { ...right, headers: [['Content-Type', other], length(body.length)] };
    case 1: {
      const encoding = random.pick(['gzip', 'br', 'deflate', 'identity', 'gzip, gzip', 'x'] as const);
      const packed = random.chance(0.5) ? gzipSync(body) : body;
      return {
        headers: [type, length(packed.length), ['Content-Encoding', encoding]],
        pieces: [packed],
        isIntact: true,
      };
    }
    case 2:
      return { headers: [type, coding], pieces: chunked(pieces(body, random)), isIntact: true };
    case 3:
      return {
        headers: [type, coding],
        pieces: [mutatedBytes(Buffer.concat(chunked([body])), random)],
        isIntact: false,
        end: true,
      };
    case 4: {
      const lie = random.pick([
        body.length - 1,
        body.length + 1,
        0,
        2 ** 53,
        -1,
        '1e3',
        `+${body.length}`,
        `${body.length}, ${body.length}`,
        '0x10',
      ]);
      return { headers: [type, length(lie)], pieces: [body], isIntact: false, end: random.chance(0.7) };
    }
    case 5:
      return {
        headers: [type, length(body.length)],
        pieces: [body.subarray(0, random.between(0, body.length))],
        isIntact: false,
        end: true,
      };
    case 6:
      return { headers: [type, length(body.length), coding], pieces: [body], isIntact: false, end: true };
    case 7:
      return {
        ...right,
        headers: [...right.headers, ['Expect', random.pick(['100-continue', '200-ok', ''])]],
        isIntact: false,
      };
    default:
      return { ...right, pieces: pieces(body, random) };
  }
}
