import { ensureBase, makeImage, readSettings } from './make.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
try {
  const settings = readSettings(process.env);
  if (process.argv[2] === 'base') {
    await ensureBase(settings.cache, say, true);
  } else {
    const made = await makeImage(settings, say);
    process.stdout.write(
      [
        `image    ${made.reference}`,
        `digest   ${made.digest}`,
        `archive  ${made.archive}`,
        `bill     ${made.sbom}`,
        `size     ${(made.compressedBytes / 1e6).toFixed(1)} MB compressed`,
        '',
      ].join('\n'),
    );
  }
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
