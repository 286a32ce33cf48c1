import { text } from './config.ts';

/** Keys of the services that encrypt stored values (`defineSealingService`). */
export const sealingConfig = {
  SECRET_KEY: text({
    doc: 'Key that encrypts authentication keys and client secrets at rest. If the key is lost, they are lost.',
    example: '64 random hexadecimal digits (openssl rand -hex 32)',
    required: true,
    secret: true,
    random: true,
    pattern: /^.{32,}$/,
    form: 'at least 32 characters',
  }),
  SECRET_KEY_OTHERS: text({
    doc: 'Keys that decrypt but do not encrypt, one per line: the next SECRET_KEY while processes change to it, and the previous SECRET_KEY until `ctl secrets reseal` has re-encrypted all values.',
    example: 'the-next-or-the-former-SECRET_KEY',
    secret: true,
    random: true,
    pattern: /^[^\n]{32,}(\n[^\n]{32,})*$/,
    form: 'at least 32 characters a line',
  }),
} as const;
