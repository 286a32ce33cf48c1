import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { testCertificate } from '@headset-cloud/runtime/testing/certificate.ts';
import { readHeadsetKey } from './headset-key.ts';

test('the key id is the RFC 7638 thumbprint, computed over exactly crv, kty, x and y', () => {
  // The P-256 key of RFC 7517 appendix A.1. Independent JOSE libraries compute the same thumbprint.
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: 'MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4',
    y: '4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM',
  };
  const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'pem', type: 'spki' }).toString();
  expect(readHeadsetKey(`\n${pem}`)).toEqual({
    keyId: 'cn-I_WNMClehiVp51i_0VpOENW1upEerA8sEam5hn-s',
    publicKeyPem: pem,
  });
});

test('a certificate and a private key are refused, although Node reads a public key from each', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  for (const given of [testCertificate.cert, pem]) {
    expect(() => createPublicKey(given)).not.toThrow();
    expect(() => readHeadsetKey(given)).toThrow('is not a public key in PEM form');
  }
});
