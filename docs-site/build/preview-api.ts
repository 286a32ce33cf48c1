/**
 * Previews the references without Gatsby, as single HTML files: `node build/preview-api.ts <folder>`. Navigation and
 * sidebar are placeholders of the same size.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { createHighlight } from './highlight.ts';
import { loadApis } from './openapi.ts';
import { loadRenderer } from './renderer.ts';
import { readSettings } from './settings.ts';
import { exampleValues } from './values.ts';

const root = resolve(import.meta.dirname, '..');
const output = process.argv[2];
if (!output) throw new Error('usage: node build/preview-api.ts <folder>');
mkdirSync(output, { recursive: true });

const renderer = await loadRenderer(root);
const highlight = await createHighlight(exampleValues(readSettings({})));
const apis = await loadApis(resolve(root, '../gateway/openapi'));
const css = await build({
  entryPoints: [join(root, 'src/css/index.css')],
  bundle: true,
  write: false,
  logLevel: 'error',
});
const styles = css.outputFiles[0]?.text ?? '';
const script = await build({
  stdin: {
    contents: `import { startSignature } from './signature'; startSignature();`,
    resolveDir: join(root, 'src/behaviour'),
  },
  bundle: true,
  write: false,
  minify: true,
});
for (const api of apis) {
  const others = apis.filter((one) => one !== api);
  const { page, html } = renderer.renderApi({
    ...api,
    others,
    highlight: (code, language) => highlight(code, language),
  });
  const size = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;
  const elements = html.match(/<[a-z]/g)?.length;
  const search = gzipSync(JSON.stringify(page.search)).length;
  process.stdout.write(
    `${api.name}: ${elements} elements, ${size(html.length)}, gzip ${size(gzipSync(html).length)}, br ${size(brotliCompressSync(html).length)}, ${page.search.length} search records (gzip ${size(search)})\n`,
  );
  const sidebar = page.sidebar
    .map(
      (one) =>
        `<p><b>${one.label}</b></p>${one.items.map((item) => `<p><a href="${item.href}">${item.label}</a></p>`).join('')}`,
    )
    .join('');
  const chrome = `.preview{display:grid;grid-template-columns:17.5rem minmax(0,1fr)}.preview nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;font-size:.85rem;border-right:1px solid var(--border)}.preview main{padding:2rem 1.5rem}@media(max-width:996px){.preview{display:block}.preview nav{display:none}.preview main{padding:1.5rem 1rem}}`;
  writeFileSync(
    join(output, `${api.name}.html`),
    `<!doctype html><html lang="ja" data-theme="light" class="js"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${page.title}</title><style>${styles}${chrome}</style></head><body><div class="preview"><nav>${sidebar}</nav><main><h1>${page.title}</h1><div class="prose prose--api">${html}</div></main></div><script>${script.outputFiles[0]?.text}</script></body></html>`,
  );
  writeFileSync(join(output, `${api.name}.md`), page.text);
}
