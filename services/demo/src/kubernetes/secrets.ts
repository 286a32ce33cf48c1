import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withinTime } from '@headset-cloud/outbound/time-limit.ts';
import { Agent, request } from 'undici';

/** Folder of the service account's credentials in a pod. */
const account = '/var/run/secrets/kubernetes.io/serviceaccount';

/** The Secrets of the pod's namespace. */
export interface Secrets {
  /** Returns the decoded values of a Secret; undefined if it does not exist. */
  get(name: string): Promise<Record<string, string> | undefined>;
  /** Creates a Secret. Returns false if the name exists; the existing Secret stays unchanged. */
  create(
    name: string,
    texts: Readonly<Record<string, string>>,
    labels: Readonly<Record<string, string>>,
  ): Promise<boolean>;
}

/** Opens the API server with the pod's service account. */
export function openSecrets(folder = account, origin = 'https://kubernetes.default.svc'): Secrets {
  const read = (name: string) => readFileSync(join(folder, name), 'utf8').trim();
  const dispatcher = new Agent({ connect: { ca: read('ca.crt') } });
  const base = `${origin}/api/v1/namespaces/${read('namespace')}/secrets`;
  const ask = async (method: 'GET' | 'POST', url: string, body?: object) => {
    const { statusCode, text } = await withinTime(10_000, `no answer to ${method} ${url}`, async (signal) => {
      const answer = await request(url, {
        method,
        dispatcher,
        headers: { authorization: `Bearer ${read('token')}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
        signal,
      });
      return { statusCode: answer.statusCode, text: await answer.body.text() };
    });
    const expected = method === 'GET' ? [200, 404] : [201, 409];
    if (!expected.includes(statusCode))
      throw new Error(`${method} ${url}: ${statusCode} ${text.slice(0, 500)}`);
    return { statusCode, text };
  };
  return {
    async get(name) {
      const { statusCode, text } = await ask('GET', `${base}/${name}`);
      if (statusCode === 404) return undefined;
      const { data = {} } = JSON.parse(text) as { data?: Record<string, string> };
      const decoded = (base64: string) => Buffer.from(base64, 'base64').toString();
      return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decoded(value)]));
    },
    async create(name, stringData, labels) {
      const secret = {
        apiVersion: 'v1',
        kind: 'Secret',
        type: 'Opaque',
        metadata: { name, labels },
        stringData,
      };
      return (await ask('POST', base, secret)).statusCode === 201;
    },
  };
}
