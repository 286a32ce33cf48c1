import { startTestIssuer, testKey } from '../testing/keys.ts';
import { fetchJson } from './fetch-json.ts';

test('a late answer is reported with its address and the time limit', async () => {
  const issuer = await startTestIssuer([testKey('key-1', 'ES256')]);
  issuer.silent = true;
  try {
    await expect(
      fetchJson(`${issuer.url}/jwks`, { timeoutMs: 100, limitBytes: 1000, fetch: globalThis.fetch }),
    ).rejects.toThrow(`no answer from ${issuer.url}/jwks within 100 ms`);
  } finally {
    await issuer.close();
  }
});
