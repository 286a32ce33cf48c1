import type { IncomingMessage, ServerResponse } from 'node:http';
import { listen, readText } from '../baselines/http.ts';
import { archiveSize, isArchived } from '../lib/archive-bytes.ts';
import { serveCommands } from '../lib/worker.ts';

/**
 * The integrator's side of a recording: issues signed URLs, receives the parts and the notification. Each byte
 * of a part is compared with the archive's and discarded.
 */
let size = { webmBytes: 0, partBytes: 0 };
let origin = '';
/** Stored parts by file; the whole of a file is part 0. */
let stored = new Map<string, Set<number>>();
let problems: string[] = [];
let notify: (() => void) | undefined;
let notification: { channel?: { channelId?: string }; message?: string } | undefined;

const urlOf = (file: string, part: number) => `${origin}/put?file=${encodeURIComponent(file)}&part=${part}`;
const partsOf = (file: string) => Math.ceil(archiveSize(file, size.webmBytes) / size.partBytes);
const uploadOf = (file: string) => ({
  uploadId: 'upload',
  parts: Array.from({ length: partsOf(file) }, (_, i) => urlOf(file, i + 1)),
});

async function sign(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { channel } = JSON.parse(await readText(request));
  const answer: Record<string, unknown> = { [channel.metaFile]: urlOf(channel.metaFile, 0) };
  for (const { jsonFile, webmFile } of channel.connections) {
    answer[jsonFile] = urlOf(jsonFile, 0);
    if (webmFile.splitted !== partsOf(webmFile.file)) problems.push(`splitted ${webmFile.splitted}`);
    answer[webmFile.file] = uploadOf(webmFile.file);
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
}

function take(request: IncomingMessage, response: ServerResponse, query: URLSearchParams): void {
  const file = query.get('file') ?? '';
  const part = Number(query.get('part'));
  const from = part === 0 ? 0 : (part - 1) * size.partBytes;
  const left = archiveSize(file, size.webmBytes) - from;
  const expected = part === 0 ? left : Math.min(size.partBytes, left);
  let bytes = 0;
  let right = true;
  request.on('data', (piece: Buffer) => {
    right &&= isArchived(from + bytes, piece);
    bytes += piece.length;
  });
  request.on('end', () => {
    const parts = stored.get(file) ?? new Set();
    if (!right) problems.push(`part ${part} of ${file} has other bytes than the archive`);
    else if (bytes !== expected) problems.push(`part ${part} of ${file} has ${bytes} bytes, not ${expected}`);
    else if (parts.has(part)) problems.push(`part ${part} of ${file} came twice`);
    stored.set(file, parts.add(part));
    response.writeHead(200, { etag: `"${part}-${bytes}"` }).end();
  });
}

const commands = {
  /** Returns the origin; callbacks go to its /notification, requests for signed URLs to its /sign. */
  start: async (o: { webmBytes: number; partBytes: number }): Promise<string> => {
    size = o;
    origin = await listen((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '/', origin);
      if (request.method === 'PUT') take(request, response, searchParams);
      else if (pathname === '/sign') void sign(request, response);
      else {
        void readText(request).then((text) => {
          notification = JSON.parse(text);
          response.writeHead(204).end();
          notify?.();
        });
      }
    });
    return origin;
  },
  /** A file's signed URLs, for the baseline. */
  sign: async ({ file }: { file: string }): Promise<readonly string[]> => uploadOf(file).parts,
  /** Resolves with the notification that has arrived since `check`. */
  notification: async (_: object) => {
    if (!notification) {
      await new Promise<void>((resolve) => {
        notify = resolve;
      });
    }
    return notification;
  },
  /** Throws unless every part of one webm file has come once and is correct; then resets the state. */
  check: async (_: object): Promise<void> => {
    const webm = [...stored].filter(([file]) => file.endsWith('.webm'));
    const [[file, parts] = ['', new Set<number>()]] = webm;
    if (webm.length !== 1) problems.push(`${webm.length} webm files`);
    if (parts.size !== partsOf(file)) problems.push(`${parts.size} parts instead of ${partsOf(file)}`);
    const found = problems;
    stored = new Map();
    problems = [];
    notification = undefined;
    if (found.length > 0) throw new Error(found.slice(0, 5).join('; '));
  },
};
export type StorageSink = typeof commands;
serveCommands(commands);
