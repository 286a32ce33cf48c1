import type { Peer } from '@headset-cloud/rpc/identity.ts';
import { makeTrialCertificates } from './certificates.ts';
import { openSecrets } from './secrets.ts';

// Runs in a pod of a trial and creates the Secrets with the components' certificates. Environment: the chart's
// trial.yaml.
const setting = (name: string): string => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is missing`);
  return value;
};

const made = await makeTrialCertificates(openSecrets(), {
  prefix: setting('CERTIFICATES_PREFIX'),
  domain: setting('CERTIFICATES_DOMAIN'),
  components: setting('CERTIFICATES_COMPONENTS').split(',') as Peer[],
  labels: { 'app.kubernetes.io/instance': setting('CERTIFICATES_RELEASE') },
});
const summary = made.length > 0 ? `created ${made.join(', ')}` : 'all certificates exist';
process.stdout.write(`${summary}\n`);
