import { type BlockList, connect } from 'node:net';
import { LocalChannel } from '@headset-cloud/rpc/local.ts';
import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import { readConfig } from '@headset-cloud/runtime/config.ts';
import { defaultListeners } from '@headset-cloud/runtime/listeners/http-listener.ts';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { assembleGateway } from '../assemble.ts';
import { gatewayConfig } from '../config.ts';
import type { GatewayServer } from '../server.ts';
import { answerCheck, type HttpAnswer } from './contract.ts';
import { createFakes, type Fakes } from './fakes.ts';
import { signToken, startTestIssuer, type TestIssuer, type TestKey, testKey } from './keys.ts';

export const allScopes = [
  'cws:application:read',
  'cws:application:write',
  'cws:device:read',
  'cws:device:write',
  'cws:communication-service',
];

export interface RequestOptions {
  readonly body?: string | Uint8Array;
  /** undefined removes a default header. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** The real gateway on a free port, with fake services. Every answer is checked against the document. */
export interface TestGateway {
  readonly fakes: Fakes;
  readonly issuer: TestIssuer;
  readonly server: GatewayServer;
  readonly metrics: Registry;
  /** Parsed log lines. */
  readonly logs: Record<string, unknown>[];
  token(over?: object): string;
  request(method: string, path: string, options?: RequestOptions): Promise<HttpAnswer>;
  /** Sends a raw request and returns all received text until the connection closes. */
  raw(text: string): Promise<string>;
  /** `forMs`: time for open requests to finish; milliseconds. */
  stop(forMs?: number): Promise<void>;
}

/** `proxies`: proxies in front of it; default: none. `time`: clock and timers of the gateway, and time of tokens. */
export async function startTestGateway(
  env: Record<string, string> = {},
  { proxies, time = systemTime }: { readonly proxies?: BlockList; readonly time?: Time } = {},
): Promise<TestGateway> {
  const key: TestKey = testKey('key-1', 'ES256');
  const issuer = await startTestIssuer([key]);
  const config = readConfig(gatewayConfig, {
    GATEWAY_LISTEN: '127.0.0.1:0',
    OIDC_ISSUER: issuer.url,
    OIDC_AUDIENCE: 'https://api.test',
    ...env,
  });
  const logs: Record<string, unknown>[] = [];
  const logger = pino({ level: 'debug' }, { write: (line: string) => logs.push(JSON.parse(line)) });
  const fakes = createFakes();
  const channel = new LocalChannel();
  channel.register(fakes.bindings);
  const metrics = new Registry();
  const server = assembleGateway(config, {
    ...{ channel: () => channel, logger, clock: time, time, metrics },
    listeners: { ...defaultListeners, ...(proxies && { proxies }) },
  });
  try {
    await server.start();
  } catch (error) {
    await issuer.close();
    throw error;
  }
  const check = answerCheck();
  const token = (over: object = {}) =>
    signToken(key, {
      iss: issuer.url,
      aud: config.OIDC_AUDIENCE,
      exp: Math.floor(time.now() / 1000) + 600,
      client_id: 'client-1',
      scope: allScopes.join(' '),
      ...over,
    });
  const standing = token();

  return {
    fakes,
    issuer,
    server,
    metrics,
    logs,
    token,
    async request(method, path, options = {}) {
      const headers = Object.entries({
        authorization: `Bearer ${standing}`,
        ...(options.body !== undefined && { 'content-type': 'application/json' }),
        ...options.headers,
      }).filter((h): h is [string, string] => h[1] !== undefined);
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
        method,
        headers,
        ...(options.body !== undefined && { body: options.body as string }),
      });
      const answer = {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        text: await response.text(),
      };
      const problems = check(method, path, answer);
      if (problems.length > 0) throw new Error(`${method} ${path}: ${problems.join('; ')}`);
      return answer;
    },
    raw: (text) => exchange(server.port, text),
    async stop(forMs) {
      await server.stop(forMs);
      await issuer.close();
    },
  };
}

function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    let received = '';
    socket.on('data', (data) => {
      received += data.toString('latin1');
    });
    socket.setTimeout(4000, () => socket.destroy(new Error(`the connection stays open after: ${received}`)));
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
}
