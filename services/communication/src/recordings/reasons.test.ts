import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { createFakeTime, type FakeTime } from '@headset-cloud/runtime/testing/fake-time.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { Agent } from 'undici';
import type { Uploader } from '../ports/uploader.ts';
import { createArchiveReader } from './archive.ts';
import { createUploader } from './uploader.ts';

/** Log texts of an aborted upload for operators: where it stopped, the missing progress, and the time. */

const servers: Server[] = [];
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.destroy();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
const agent = () => {
  const made = new Agent();
  agents.push(made);
  return made;
};
const never = new AbortController().signal;

/** A server that accepts requests and does not answer; `asked` resolves with the first request. */
async function silence() {
  const asked = Promise.withResolvers<IncomingMessage>();
  const host = await serve((request) => asked.resolve(request));
  return { host, asked: asked.promise };
}

test('the size of an archive', async () => {
  const time = createFakeTime();
  const { host, asked } = await silence();
  const reader = createArchiveReader(agent(), 100, time);
  const size = reader.size(`http://${host}/archive`, 'r/report.json', never);
  const failure = expect(size).rejects.toThrow(`the archive at ${host}: no progress within 100 ms`);
  await asked;
  await time.advance(100);
  await failure;
  const refusing = await serve((_, response) => response.writeHead(500).end());
  await expect(reader.size(`http://${refusing}/archive`, 'r/report.json', never)).rejects.toThrow(
    `the archive at ${refusing}: it answered 500 about r/report.json, or no size`,
  );
});

describe('a part of a recording', () => {
  const stallMs = 1000;
  let time: FakeTime;
  let uploader: Uploader;
  beforeEach(() => {
    time = createFakeTime();
    uploader = createUploader({ archives: agent(), storage: agent(), stallMs, minRate: 1000, time });
  });
  const part = (host: string, bytes: number) => ({
    ...{ archiveUrl: `http://${host}/a`, file: 'r/x', offset: 0, bytes, whole: true },
  });

  test('that stops at the archive, or at the storage', async () => {
    const archive = await serve((_, response) => response.end('abc'));
    const first = await silence();
    const unread = uploader.upload(part(first.host, 3), `http://${archive}/x?secret`, never);
    await first.asked;
    await time.advance(stallMs);
    expect(await unread).toEqual({
      outcome: 'failed',
      reason: `the archive at ${first.host}: no progress within 1000 ms`,
    });
    const second = await silence();
    const unstored = uploader.upload(part(archive, 3), `http://${second.host}/x?secret`, never);
    await second.asked;
    await time.advance(stallMs);
    expect(await unstored).toEqual({
      outcome: 'failed',
      reason: `the storage at ${second.host}, from the archive at ${archive}: no progress within 1000 ms`,
    });
  });

  test('that is slower than the lowest allowed rate', async () => {
    const source = Promise.withResolvers<ServerResponse>();
    const archive = await serve((_, response) => source.resolve(response));
    const { host, asked } = await silence();
    let settled = false;
    const uploading = uploader.upload(part(archive, 10), `http://${host}/x?secret`, never).finally(() => {
      settled = true;
    });
    const response = await source.promise;
    let stored = 0;
    /** One byte goes from the archive to the storage. */
    const pass = async () => {
      response.write('x');
      if (stored === 0) (await asked).on('data', (bytes: Buffer) => (stored += bytes.length));
      const expected = stored + 1;
      await waitFor('the byte', () => stored === expected);
    };
    // Twice the stall time, and 10 ms for 10 bytes.
    for (const ms of [999, 999, 11]) {
      await pass();
      await time.advance(ms);
    }
    await pass();
    expect(settled).toBe(false);
    await time.advance(1);
    expect(await uploading).toEqual({
      outcome: 'failed',
      reason: `the storage at ${host}, from the archive at ${archive}: not done within 2010 ms`,
    });
  });
});
