import { X509Certificate } from 'node:crypto';
import { makeTrialCertificates } from './certificates.ts';
import type { Secrets } from './secrets.ts';

/** The Secrets of a namespace in memory. Every call after the first `dieAfter` calls fails. */
function namespace(kept = new Map<string, Readonly<Record<string, string>>>(), dieAfter = 1000): Secrets {
  let calls = 0;
  const alive = () => {
    if (++calls > dieAfter) throw new Error('killed');
  };
  return {
    async get(name) {
      alive();
      return kept.get(name);
    },
    async create(name, texts) {
      alive();
      if (kept.has(name)) return false;
      kept.set(name, texts);
      return true;
    },
  };
}

const wanted = {
  prefix: 'trial-rpc',
  domain: 'headset-cloud.internal',
  components: ['gateway', 'devices', 'device-link'],
  labels: {},
} as const;

test('each component gets its own certificate, which all others trust, also after any interruption', async () => {
  for (let dieAfter = 0; dieAfter <= 9; dieAfter++) {
    const kept = new Map<string, Readonly<Record<string, string>>>();
    await makeTrialCertificates(namespace(kept, dieAfter), wanted).catch(() => {});
    await makeTrialCertificates(namespace(kept), wanted);
    const secrets = wanted.components.map((name) => kept.get(`trial-rpc-${name}`) ?? {});
    const authorities = secrets.map((one) => new X509Certificate(one['ca.crt'] ?? ''));
    for (const [i, one] of secrets.entries()) {
      const certificate = new X509Certificate(one['tls.crt'] ?? '');
      expect(certificate.subjectAltName).toBe(`DNS:${wanted.components[i]}.headset-cloud.internal`);
      for (const authority of authorities) {
        expect(certificate.verify(authority.publicKey)).toBe(true);
        expect(certificate.checkIssued(authority)).toBe(true);
      }
    }
    expect(await makeTrialCertificates(namespace(kept), wanted)).toEqual([]);
  }
});
