import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { type SimulatedConnection, SoraSimulator, type Webhook } from './simulator.ts';

const { values } = parseArgs({
  options: {
    endpoint: { type: 'string' },
    'secret-file': { type: 'string' },
    webhooks: { type: 'string', default: 'http://127.0.0.1:8084' },
    port: { type: 'string', default: '0' },
  },
});
if (!values.endpoint || !values['secret-file']) {
  process.stderr.write('Usage: main.ts --endpoint ID --secret-file PATH [--webhooks URL] [--port PORT]\n');
  process.exit(2);
}

const sora = new SoraSimulator({
  endpointId: values.endpoint,
  secret: readFileSync(values['secret-file'], 'utf8').trim(),
  webhookUrl: values.webhooks,
  port: Number(values.port),
});
await sora.start();
const say = (text: string): void => {
  process.stdout.write(`${text}\n`);
};
say(`archives: ${sora.archiveUrl}`);

const connections = new Map<string, SimulatedConnection>();
let last: readonly Webhook[] = [];

async function send(...webhooks: Webhook[]): Promise<void> {
  last = webhooks;
  for (const webhook of webhooks) say(`${String(webhook.body['type'])}: ${await webhook.send()}`);
}

const connected = (id = ''): SimulatedConnection => {
  const connection = connections.get(id);
  if (!connection) throw new Error(`nobody is connected as ${id}`);
  return connection;
};
const inChannel = (channelId = ''): SimulatedConnection[] => {
  const members = [...connections.values()].filter((one) => one.channelId === channelId);
  if (members.length === 0) throw new Error(`nobody is in ${channelId}`);
  return members;
};

const commands: Record<string, (first?: string, second?: string) => Promise<void>> = {
  async connect(channelId = '', deviceId) {
    const connection = sora.join(channelId, deviceId ? { deviceId } : undefined);
    connections.set(connection.connectionId, connection);
    say(`connection ${connection.connectionId}`);
    await send(sora.created(connection));
  },
  update: (id) => send(sora.updated(connected(id))),
  async disconnect(id = '') {
    await send(sora.destroyed(connected(id)));
    connections.delete(id);
  },
  record: (channelId, mebibytes = '1') =>
    send(...sora.record(inChannel(channelId), { webmBytes: Number(mebibytes) * 1024 * 1024 }).webhooks),
  async fail(channelId) {
    const members = inChannel(channelId);
    await send(...sora.record(members, { failed: members }).webhooks);
  },
  repeat: () => send(...last),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name = '', first, second] = line.trim().split(/\s+/);
  const command = commands[name];
  if (name === '') continue;
  try {
    if (command) await command(first, second);
    else say(`commands: ${Object.keys(commands).join(', ')}`);
  } catch (error) {
    say((error as Error).message);
  }
}
await sora.close();
