import { commonConfig, distributedConfig } from '@headset-cloud/process/common-config.ts';
import { address, type ConfigOf, text } from '@headset-cloud/runtime/config.ts';
import { sealingConfig } from '@headset-cloud/runtime/sealing-config.ts';

const { SECRET_KEY, SECRET_KEY_OTHERS } = sealingConfig;

/** Keys of the embedded default: the whole platform in one process (rule C5). */
export const standaloneConfig = {
  ...commonConfig,
  SECRET_KEY: { ...SECRET_KEY, required: false as const },
  SECRET_KEY_OTHERS,
  DATA_DIR: text({
    doc: 'Folder of all stored data; it survives a restart.',
    example: '.data',
    default: '.data',
  }),
  ISSUER_LISTEN: address({
    doc: 'Listen address of the built-in identity provider.',
    example: '127.0.0.1:8081',
    default: { host: '127.0.0.1', port: 8081 },
  }),
  ISSUER_PUBLIC_URL: text({
    doc: 'Address of the built-in identity provider for its clients: the `iss` of its tokens, and therefore the gateway’s OIDC_ISSUER. Default: http:// and ISSUER_LISTEN. A gateway that cannot reach this address needs OIDC_JWKS_URI.',
    example: 'https://id.example.com',
    pattern: /^https?:\/\/[^/?#\s]+\/?$/i,
    form: 'an http or https address without a path',
  }),
  ISSUER_CLIENTS_FILE: text({
    doc: 'JSON file of the built-in identity provider’s clients: [{"clientId", "clientSecret"}].',
    example: '.data/issuer-clients.json',
    default: '.data/issuer-clients.json',
  }),
} as const;

export type StandaloneConfig = ConfigOf<typeof standaloneConfig>;

/**
 * Configuration of the same process on MongoDB and Kafka: the keys of a process of one service. The addresses of other
 * services are not used; GRPC_LISTEN serves other processes of this kind.
 */
export const sharedConfig = { ...commonConfig, ...distributedConfig, ...sealingConfig } as const;

export type SharedConfig = ConfigOf<typeof sharedConfig>;
