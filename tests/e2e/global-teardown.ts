import { rmSync } from 'node:fs';

/** Stops the platform; keeps its folder when KEEP is set, to read the logs. */
export default async function teardown(): Promise<void> {
  const stack = globalThis.headsetStack;
  if (!stack) return;
  await globalThis.headsetDoors?.close();
  await stack.stop();
  if (process.env['KEEP']) process.stderr.write(`\nKept: ${stack.dataDir}\n`);
  else rmSync(stack.dataDir, { recursive: true, force: true });
}
