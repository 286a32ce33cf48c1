import { findBuilder } from './builder.ts';
import { makeImage, readSettings } from './make.ts';
import { bring, readAsked } from './skaffold-build.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
try {
  const asked = readAsked(process.env);
  const made = await makeImage(readSettings({ ...process.env, TAG: asked.reference, OUT: undefined }), say);
  const builder = findBuilder();
  try {
    bring(made.archive, asked, builder);
  } finally {
    builder.close();
  }
} catch (error) {
  say((error as Error).message);
  process.exitCode = 1;
}
