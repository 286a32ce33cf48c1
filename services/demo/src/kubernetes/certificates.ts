import { identityOf, type Peer } from '@headset-cloud/rpc/identity.ts';
import { keyOfAuthority, restoreAuthority } from '@headset-cloud/runtime/testing/authority.ts';
import type { Secrets } from './secrets.ts';

/** Certificates for mutual TLS between a trial's pods. */
export interface TrialCertificates {
  /** Prefix of the Secrets: PREFIX-COMPONENT, and PREFIX-authority with the authority's key. */
  readonly prefix: string;
  readonly domain: string;
  readonly components: readonly Peer[];
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Creates missing Secrets and returns their names. Existing Secrets stay unchanged. It is safe to interrupt, repeat or
 * run it concurrently, because the authority's key is stored before it signs a certificate.
 */
export async function makeTrialCertificates(secrets: Secrets, wanted: TrialCertificates): Promise<string[]> {
  const { prefix, domain, components, labels } = wanted;
  const kept = `${prefix}-authority`;
  await secrets.create(kept, { 'tls.key': keyOfAuthority() }, labels);
  const key = (await secrets.get(kept))?.['tls.key'];
  if (!key)
    throw new Error(
      `The Secret ${kept} has no tls.key: delete this Secret and the Secrets of the components.`,
    );
  const made: string[] = [];
  for (const component of components) {
    const name = `${prefix}-${component}`;
    if (await secrets.get(name)) continue;
    // Each Secret gets another certificate of the same authority. The certificates differ only in their dates.
    const authority = await restoreAuthority('headset-cloud trial', key);
    const { cert, key: ownKey } = await authority.issue([identityOf(component, domain)]);
    const texts = { 'tls.crt': cert, 'tls.key': ownKey, 'ca.crt': authority.ca };
    if (await secrets.create(name, texts, labels)) made.push(name);
  }
  return made;
}
