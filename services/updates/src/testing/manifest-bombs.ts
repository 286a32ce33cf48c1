/** Binary manifests of less than 1 MiB that claim as much work as they can. */
export function manifestBombs(): [string, Buffer][] {
  const long = 'x'.repeat(200_000);
  return [
    ['65,535 attributes that share their bytes', manifest([long, 'manifest'], { claimed: 65_535, size: 0 })],
    ['10,000 attributes with one long name', manifest([long, 'manifest'], { attributes: 10_000 })],
    [
      '10,000 packages with one long value',
      manifest(['package', 'manifest', long], { attributes: 10_000, value: 2 }),
    ],
  ];
}

interface Claims {
  readonly attributes?: number;
  readonly claimed?: number;
  readonly size?: number;
  readonly value?: number;
}

/** The attributes are named by the first text; the element by the second one. */
function manifest(
  texts: readonly string[],
  { attributes = 1, claimed, size = 20, value = 0 }: Claims,
): Buffer {
  const none = 0xffffffff;
  const attribute = words(none, 0, none, 0x03000008, value);
  const element = Buffer.concat([
    words(none, 1),
    halves(20, size, claimed ?? attributes, 0, 0, 0),
    ...Array<Buffer>(attributes).fill(attribute),
  ]);
  const body = Buffer.concat([pool(texts), chunk(0x0102, 16, words(1, none), element)]);
  return chunk(0x0003, 8, Buffer.alloc(0), body);
}

function pool(texts: readonly string[]): Buffer {
  let at = 0;
  const encoded = texts.map((text) =>
    Buffer.concat([halves(0x8000 | (text.length >> 16), text.length & 0xffff), Buffer.from(text, 'utf16le')]),
  );
  const offsets = encoded.map(({ length }) => {
    at += length;
    return at - length;
  });
  const head = words(texts.length, 0, 0, 28 + texts.length * 4, 0);
  return chunk(0x0001, 28, head, Buffer.concat([words(...offsets), ...encoded]));
}

function chunk(type: number, headerSize: number, head: Buffer, body: Buffer): Buffer {
  return Buffer.concat([halves(type, headerSize), words(8 + head.length + body.length), head, body]);
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [i, value] of values.entries()) bytes.writeUInt32LE(value, i * 4);
  return bytes;
}

function halves(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [i, value] of values.entries()) bytes.writeUInt16LE(value, i * 2);
  return bytes;
}
