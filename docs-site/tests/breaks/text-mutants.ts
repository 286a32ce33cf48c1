/** A mutant that changes the text of a source or of the built server. */
export interface TextMutant {
  readonly file: string;
  readonly change: (text: string) => string;
  /** Test file for this mutant. Other test files would fail in their setup. */
  readonly reader: string;
}

/** Mutants for tests that read texts, tables or build results, which the switches of `instrument.ts` do not change. */
export const textMutants: readonly TextMutant[] = [
  {
    file: 'src/pages/index.tsx',
    change: (text) => `// graphql\n${text}`,
    reader: 'unit/dist.test.ts',
  },
  {
    file: 'src/pages/index.tsx',
    change: (text) => `ja.none.back;\n${text}`,
    reader: 'unit/strings.test.ts',
  },
  {
    file: 'tests/unit/search-queries.ts',
    change: () => 'export const queries = [];\n',
    reader: 'unit/search.test.ts',
  },
  {
    file: 'src/reference/samples.ts',
    change: (text) =>
      text.replace("'    timeout=30,'", "'    timeout=0,'").replace("'{{integratorUrl}}'", 'exampleEndpoint'),
    reader: 'unit/api-samples.test.ts',
  },
  {
    file: 'src/reference/related.ts',
    change: (text) => text.replace("'(uri)'", "'(none)'"),
    reader: 'unit/api-samples.test.ts',
  },
  {
    file: 'src/reference/related.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
    change: (text) => text.replace(/`\$\{base\}#\$\{id\}`/g, () => '`${base}#no-${id}`'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/index.tsx',
    change: (text) =>
      text.replace(
        '<div className="api">',
        '<div className="api" id="a b" style={{ color: \'red\' }}>{Array.from({ length: 30_000 }, (_, one) => <i key={one} />)}',
      ),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/markdown.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
    change: (text) => text.replace(/\*\*\$\{answer\.status\}\*\*/, () => '${answer.status}'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/markdown.ts',
    change: (text) => text.replace(/ \{#\$\{operation\.id\}\}/, () => ''),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'src/reference/describe.ts',
    change: (text) =>
      // biome-ignore lint/suspicious/noTemplateCurlyInString: source text.
      text.replace(/`\$\{input\.route\}#\$\{anchor\}`/, () => '`${input.route}#no-${anchor}`'),
    reader: 'unit/api-page.test.ts',
  },
  {
    file: 'build/guides.ts',
    change: (text) => text.replace("tag.startsWith('</') ? ''", "tag.startsWith('</') ? tag"),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/guide-rules.ts',
    change: (text) => text.replace('  Cards: {},', '  Cards: {}, Seeded: {},'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/guides.ts',
    change: (text) => text.replace('drafts || !one.data.draft', 'true'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'build/site.ts',
    change: (text) =>
      text.replace('const order = guides.filter((one) => !one.data.unlisted);', 'const order = guides;'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/strings/ja.ts',
    change: (text) => text.replace('アーカイブ', '別の語'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/reference/describe.ts',
    change: (text) => text.replace(/sidebar: sidebar\.filter\(.*\),/, 'sidebar: [],'),
    reader: 'unit/content.test.ts',
  },
  {
    file: 'src/search/analyse.ts',
    change: (text) => text.replace("'NFKC'", "'NFC'"),
    reader: 'unit/search.test.ts',
  },
  {
    file: 'dist/server.mjs',
    change: (text) => text.replaceAll('SIGTERM', 'SIGUSR2'),
    reader: 'server/bundle.test.ts',
  },
  {
    file: 'dist/server.mjs',
    change: (text) => text.replaceAll('STOP_GRACE_MS', 'STOP_AFTER_MS'),
    reader: 'server/bundle.test.ts',
  },
];
