import { rmSync } from 'node:fs';
import { secretsInLogs } from './log-secrets.ts';

/**
 * Stops the platform; keeps its folder when KEEP is set, to read the logs. Throws if a log contains a secret, a token
 * or a body.
 */
export default async function teardown(): Promise<void> {
  const stack = globalThis.headsetStack;
  if (!stack) return;
  await globalThis.headsetListeners?.close();
  await stack.stop();
  const found = await secretsInLogs(stack.dataDir);
  if (process.env['KEEP']) process.stderr.write(`\nKept: ${stack.dataDir}\n`);
  else rmSync(stack.dataDir, { recursive: true, force: true });
  if (found.length > 0) {
    const shown = found.slice(0, 20).join('\n');
    throw new Error(`The logs of the run have what no log may have (KEEP=1 keeps them):\n${shown}`);
  }
}
