import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { createArchiveReader } from './archive.ts';
import { createUploader } from './uploader.ts';

/** What operators read of an upload that was given up: where, what was waited for, and how long. */

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
const silent: RequestListener = () => {};

test('the size of an archive', async () => {
  const host = await serve(silent);
  const reader = createArchiveReader(agent(), 100);
  await expect(reader.size(`http://${host}/archive`, 'r/report.json', never)).rejects.toThrow(
    `the archive at ${host}: no progress within 100 ms`,
  );
  const refusing = await serve((_, response) => response.writeHead(500).end());
  const patient = createArchiveReader(agent(), 30_000);
  await expect(patient.size(`http://${refusing}/archive`, 'r/report.json', never)).rejects.toThrow(
    `the archive at ${refusing}: it answered 500 about r/report.json, or no size`,
  );
});

test('a part of a recording', async () => {
  const within = (stallMs: number) =>
    createUploader({ archives: agent(), storage: agent(), stallMs, minRate: 1000 });
  const part = (host: string) => ({
    ...{ archiveUrl: `http://${host}/a`, file: 'r/x', offset: 0, bytes: 3, whole: true },
  });
  const archive = await serve((_, response) => response.end('abc'));
  const hanging = await serve(silent);
  expect(await within(200).upload(part(hanging), `http://${archive}/x?secret`, never)).toEqual({
    outcome: 'failed',
    reason: `the archive at ${hanging}: no progress within 200 ms`,
  });
  expect(await within(2000).upload(part(archive), `http://${hanging}/x?secret`, never)).toEqual({
    outcome: 'failed',
    reason: `the storage at ${hanging}, from the archive at ${archive}: no progress within 2000 ms`,
  });
});
