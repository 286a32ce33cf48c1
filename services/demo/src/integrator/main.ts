import { parseArgs } from 'node:util';
import { untilSignal } from '@headset-cloud/runtime/lifecycle.ts';
import { type Answer, type Received, startIntegrator } from './server.ts';

const usage = `A sample integrator's server: receives callbacks, verifies both signatures, ignores repeats.

  node services/demo/src/integrator/main.ts [flags]

  --port N         port to listen on (default: the system chooses)
  --host H         address to listen on (default 127.0.0.1)
  --key K          an authentication key; can be repeated
  --key-file FILE  keys, one per line; read again when a signature does not match
  --log FILE       append each arrival as a line of JSON
  --status N       answer every callback with this status
  --fail-rate P    answer this share of the callbacks (0 to 1) with 500
  --hang           never answer
`;

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    host: { type: 'string', default: '127.0.0.1' },
    key: { type: 'string', multiple: true },
    'key-file': { type: 'string' },
    log: { type: 'string' },
    status: { type: 'string', default: '204' },
    'fail-rate': { type: 'string', default: '0' },
    hang: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const print = (line: string): void => void process.stdout.write(`${line}\n`);
const port = Number(values.port);
const status = Number(values.status);
const failRate = Number(values['fail-rate']);
if (values.help) {
  print(usage);
  process.exit(0);
}
const wrong = [
  ...(Number.isInteger(port) && port >= 0 && port <= 65535 ? [] : ['--port is not a port number']),
  ...(Number.isInteger(status) && status >= 200 && status <= 599 ? [] : ['--status is not from 200 to 599']),
  ...(failRate >= 0 && failRate <= 1 ? [] : ['--fail-rate is not from 0 to 1']),
  ...(values.key || values['key-file'] ? [] : ['--key or --key-file is missing']),
];
if (wrong.length > 0) {
  process.stderr.write(`${wrong.join('\n')}\n\n${usage}`);
  process.exit(2);
}

const integrator = await startIntegrator({
  port,
  host: values.host,
  ...(values.key && { keys: values.key }),
  ...(values['key-file'] && { keyFile: values['key-file'] }),
  ...(values.log && { logFile: values.log }),
  answer: (): Answer => {
    if (values.hang) return 'hang';
    return { status: Math.random() < failRate ? 500 : status };
  },
  onArrival: (arrival) => print(describe(arrival)),
});
print(`integrator listening on ${integrator.origin}`);
await untilSignal();
await integrator.close();

function describe({ verified, duplicate, answered, webhookId, rawBody, path }: Received): string {
  if (!verified) return `REFUSED ${path} ${webhookId || '(no id)'}: the signature does not match`;
  const what = duplicate ? 'repeat' : answered >= 200 && answered < 300 ? 'callback' : `answered ${answered}`;
  return `${what} ${webhookId} ${rawBody}`;
}
